// SPDX-License-Identifier: Apache-2.0
// Counting bits without the instruction, which the baseline lacks: std::popcount calls a function there that
// looks bytes up in a table, several times slower than this arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>

namespace evidex {

/// Bits set, by adding neighbours up in parallel (Warren, Hacker's Delight, 2nd ed., section 5-1).
constexpr std::size_t count_bits(std::uint64_t word) noexcept {
  constexpr std::uint64_t kPairs = 0x5555555555555555;
  constexpr std::uint64_t kFours = 0x3333333333333333;
  constexpr std::uint64_t kBytes = 0x0F0F0F0F0F0F0F0F;
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  word -= (word >> 1) & kPairs;
  word = (word & kFours) + ((word >> 2) & kFours);
  word = (word + (word >> 4)) & kBytes;
  return static_cast<std::size_t>((word * kOnes) >> 56);
}

}  // namespace evidex
