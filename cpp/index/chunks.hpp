// SPDX-License-Identifier: Apache-2.0
// Append-only storage of rows. Chunks are never moved, resized or rewritten, so a reader needs no
// lock for the rows it already knows. Sizes double from 1,024 rows to 65,536 and stay there: a small
// index stays small, a large one wastes at most one chunk, and a row's chunk is arithmetic.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/aligned_buffer.hpp"

namespace evidex::index {

struct Chunk {
  Chunk(std::size_t rows, std::size_t dim) : vectors(rows * dim), ids(rows), rules(rows) {}

  AlignedBuffer<float> vectors;        // [rows, dim]
  AlignedBuffer<std::int64_t> ids;     // [rows]
  AlignedBuffer<std::uint32_t> rules;  // [rows]
};

using ChunkList = std::vector<std::shared_ptr<Chunk>>;

struct ChunkOf {
  static constexpr std::size_t kFirst = 1024;
  static constexpr std::size_t kLargest = 65536;
  static constexpr std::size_t kDoubling = 7;  // chunks that cover the first kLargest rows

  /// Number of the chunk that holds `row`.
  static std::size_t of(std::size_t row) noexcept {
    if (row < kLargest) return static_cast<std::size_t>(std::bit_width(row / kFirst));
    return kDoubling - 1 + row / kLargest;
  }
  /// First row of chunk `c`; a multiple of 64, so no mask word spans two chunks.
  static std::size_t begin(std::size_t c) noexcept {
    if (c == 0) return 0;
    if (c < kDoubling) return kFirst << (c - 1);
    return (c - kDoubling + 1) * kLargest;
  }
  static std::size_t rows(std::size_t c) noexcept { return begin(c + 1) - begin(c); }
};

}  // namespace evidex::index
