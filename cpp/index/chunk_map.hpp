// SPDX-License-Identifier: Apache-2.0
// Which chunk a row lies in. Chunks begin at multiples of 1,024 rows, so that this is two look-ups whatever their
// sizes; a chunk that does not fill its last 1,024 leaves row numbers that no row ever has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace evidex::index {

struct Place {
  std::size_t chunk;
  std::size_t at;
};

class ChunkMap {
 public:
  static constexpr std::size_t kUnit = 1024;  // a multiple of 64, so no mask word spans two chunks
  static constexpr std::size_t kLargest = 65536;

  std::size_t size() const noexcept { return begins_.size(); }
  /// First row of chunk `c`.
  std::size_t begin(std::size_t c) const noexcept { return begins_[c]; }
  /// Rows that chunk `c` has, or has room for where it is the last.
  std::size_t rows(std::size_t c) const noexcept { return rows_[c]; }
  /// Rows there is room for, numbers that no row has included.
  std::size_t end() const noexcept { return chunk_of_unit_.size() * kUnit; }

  /// `row` is below end().
  Place place(std::size_t row) const noexcept {
    const std::size_t chunk = chunk_of_unit_[row / kUnit];
    return {chunk, row - begins_[chunk]};
  }

  /// Rows of the next chunk of an index that grows: as many as there are, within bounds. A small index stays small, a
  /// large one wastes at most one chunk.
  std::size_t next_rows() const noexcept { return std::clamp(end(), kUnit, kLargest); }

  void add(std::size_t rows) {
    begins_.push_back(end());
    rows_.push_back(rows);
    chunk_of_unit_.resize(chunk_of_unit_.size() + rows / kUnit + (rows % kUnit != 0),
                          static_cast<std::uint32_t>(begins_.size() - 1));
  }

  /// The last chunk ends before `row`: what room it has beyond is never used.
  void close(std::size_t row) noexcept {
    if (!rows_.empty()) rows_.back() = std::min(rows_.back(), row - begins_.back());
  }

 private:
  std::vector<std::size_t> begins_;
  std::vector<std::size_t> rows_;
  std::vector<std::uint32_t> chunk_of_unit_;
};

}  // namespace evidex::index
