// SPDX-License-Identifier: Apache-2.0
// Reads the bytes of a term's list, block by block. The bytes may be anybody's: what comes out is always ascending rows
// of the segment, or Damaged.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "postings/bit_stream.hpp"
#include "postings/list_writer.hpp"
#include "postings/packing.hpp"

namespace evidex::postings {

using Numbers = std::array<std::uint32_t, kBlock>;

/// What is known of a block, or of a whole list, without reading it. Bounds, not facts: a value is at most `most`, a
/// length at least `least_length`.
struct Bounds {
  std::uint32_t most = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t least_length = 0;
};

class ListReader {
 public:
  /// A list of nobody.
  ListReader() = default;
  /// `list` is the list and no more; `rows` is how many the segment has.
  ListReader(std::span<const std::byte> list, std::size_t rows, bool weighted);

  std::size_t size() const noexcept { return size_; }
  /// Blocks of 128, and one of what is left.
  std::size_t blocks() const noexcept { return whole_ + (size_ % kBlock != 0); }
  std::size_t size_of(std::size_t block) const noexcept { return block < whole_ ? kBlock : size_ % kBlock; }
  /// No row of the block, or of one before, is larger.
  std::uint32_t last_row(std::size_t block) const noexcept {
    return block < whole_ ? facts(block).last_row : last_row_;
  }
  Bounds bounds(std::size_t block) const noexcept;
  /// Of the whole list.
  Bounds bounds() const noexcept { return bounds_; }

  /// The rows of a block; entries beyond its size are left as they are.
  void rows(std::size_t block, Numbers& rows) const;
  /// The quarters of a block, each at least 1, or the bits of its weights.
  void values(std::size_t block, Numbers& values) const;
  /// Whether a block is kept entry by entry: then both are read at once, and rows and values alone cost as much.
  bool interleaved(std::size_t block) const noexcept { return block >= whole_; }
  void rows_and_values(std::size_t block, Numbers& rows, Numbers& values) const;

 private:
  BlockFacts facts(std::size_t block) const noexcept;
  std::span<const std::byte> packed(const BlockFacts& facts, std::size_t from, std::size_t bytes) const;
  void rest(Numbers* rows, Numbers* values) const;

  std::size_t size_ = 0;
  std::size_t whole_ = 0;
  std::uint32_t last_row_ = 0;
  bool weighted_ = false;
  Bounds bounds_;
  std::span<const std::byte> directory_;
  std::span<const std::byte> blocks_;
  BitReader rest_{{}};  // the entries behind the blocks
  std::span<const std::byte> rest_values_;
};

}  // namespace evidex::postings
