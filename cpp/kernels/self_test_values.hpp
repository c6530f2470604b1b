// SPDX-License-Identifier: Apache-2.0
// What the self-test feeds the kernels: the same on every machine.
#pragma once

#include <cstdint>

#include "base/random.hpp"

namespace evidex::kernels {

struct Values {
  Random random{1};

  std::uint64_t bits() { return random.next(); }

  /// Values of both signs over many magnitudes.
  float next() {
    const std::uint64_t z = bits();
    float magnitude = static_cast<float>(z >> 40) * 0x1p-24F;
    if ((z & 7) == 0) magnitude *= 0x1p-70F;  // products of two of these are subnormal
    return (z & 8) != 0 ? -magnitude : magnitude;
  }
};

}  // namespace evidex::kernels
