// SPDX-License-Identifier: Apache-2.0
// The bytes of a term's list. How many entries; then, for lists of whole blocks of 128, bounds of the list, a directory
// with bounds of each block, and the blocks; then the rest, entry by entry: gaps as Golomb codes of powers of two
// (Rice, Some practical universal noiseless coding techniques, 1979), each with its value.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace evidex::postings {

/// What the directory says of a block. Bounds are of raw counts, never of scores: parameters and statistics may change.
struct BlockFacts {
  std::uint32_t last_row;
  std::uint32_t at;            // from the first block's first byte
  std::uint16_t most;          // largest value in quarters; kUnbounded where it does not fit
  std::uint16_t least_length;  // least length of its rows in quarters, or the largest number that fits
  std::uint8_t row_bits;
  std::uint8_t value_bits;  // kWhole is added where all values are multiples of four
  std::uint16_t unused;
};
static_assert(sizeof(BlockFacts) == 16);

inline constexpr std::uint16_t kUnbounded = 0xFFFF;
inline constexpr std::uint8_t kWhole = 0x80;

/// How many low bits of a gap are kept as they are, where `entries` are left for `rows` rows: about log2 of ln 2 times
/// the mean gap, which takes the fewest bits for rows at random (Gallager and van Voorhis, 1975).
inline unsigned low_bits(std::uint64_t rows, std::size_t entries) noexcept {
  const auto width = static_cast<unsigned>(std::bit_width(rows * 11 / (16 * entries)));
  return width == 0 ? 0 : width - 1;
}

/// Appends a list: rows ascending and distinct. `values` are quarters, or the bits of float weights where `weighted`.
/// `lengths` [rows of the segment] are those of rows, in quarters; only their number is looked at where weighted.
void append_list(std::vector<std::byte>& to, std::span<const std::uint32_t> rows, std::span<const std::uint32_t> values,
                 std::span<const std::uint32_t> lengths, bool weighted);

}  // namespace evidex::postings
