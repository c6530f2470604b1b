// SPDX-License-Identifier: Apache-2.0
// From double to float without losing the side that a bound must stay on.
#pragma once

#include <cmath>
#include <limits>

namespace evidex::codecs {

/// The smallest float that is not below `value`.
inline float round_up(double value) {
  const auto nearest = static_cast<float>(value);
  return static_cast<double>(nearest) < value ? std::nextafter(nearest, std::numeric_limits<float>::infinity())
                                              : nearest;
}

inline float round_down(double value) { return -round_up(-value); }

}  // namespace evidex::codecs
