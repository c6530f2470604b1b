// SPDX-License-Identifier: Apache-2.0
// A natural logarithm that has the same bits on every machine: those of the C library are not the same everywhere.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace evidex {

/// Of a normal number above 0, within 1 unit in the last place or so. log(x) = e log 2 + 2 artanh(s), s = (m - 1)/(m +
/// 1), with the series of artanh; |s| is at most 0.172 (Abramowitz and Stegun, 4.1.27).
inline double logarithm(double x) noexcept {
  // Its lowest bits are 0, so that its multiples are exact.
  constexpr double kHighLog2 = static_cast<double>(static_cast<std::int64_t>(std::numbers::ln2 * 0x1p44)) * 0x1p-44;
  constexpr double kLowLog2 = 0x1.ef35793c76730p-45;
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // exact, from 1/2 up
  if (mantissa < 0x1.6a09e667f3bcdp-1) {       // sqrt(1/2)
    mantissa *= 2;
    --exponent;
  }
  const double s = (mantissa - 1) / (mantissa + 1);
  const double square = s * s;
  double sum = 0;
  for (int power = 21; power >= 3; power -= 2) sum = (sum + 1.0 / power) * square;
  const double scale = exponent;
  return scale * kHighLog2 + (2 * s + (2 * s * sum + scale * kLowLog2));
}

}  // namespace evidex
