// SPDX-License-Identifier: Apache-2.0
// What the self-test feeds the kernels: the same on every machine.
#pragma once

#include <cstdint>

namespace evidex::kernels {

/// splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
struct Values {
  std::uint64_t state = 1;

  std::uint64_t bits() {
    state += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

  /// Values of both signs over many magnitudes.
  float next() {
    const std::uint64_t z = bits();
    float magnitude = static_cast<float>(z >> 40) * 0x1p-24F;
    if ((z & 7) == 0) magnitude *= 0x1p-70F;  // products of two of these are subnormal
    return (z & 8) != 0 ? -magnitude : magnitude;
  }
};

}  // namespace evidex::kernels
