// SPDX-License-Identifier: Apache-2.0
// Append-only storage of rows. Chunks are never moved, resized or rewritten, so a reader needs no
// lock for the rows it already knows. Sizes double from 1,024 rows to 65,536 and stay there: a small
// index stays small, a large one wastes at most one chunk, and a row's chunk is arithmetic.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "codecs/int8.hpp"

namespace evidex::index {

struct Chunk {
  Chunk(std::size_t rows, std::size_t row_bytes) : vectors(rows * row_bytes), ids(rows), owners(rows), groups(rows) {}

  AlignedBuffer<std::byte> vectors;     // [rows, row_bytes]: components in the codec's form; none for int8
  AlignedBuffer<std::int64_t> ids;      // [rows]
  AlignedBuffer<std::uint32_t> owners;  // [rows]
  AlignedBuffer<std::int64_t> groups;   // [rows]
};

/// int8 codes of a chunk's rows: beside the vectors, or instead of them. In one buffer, which is then large enough
/// for huge pages: facts of scattered rows cost as much as their codes where each has a page to look up.
class CodeChunk {
  AlignedBuffer<std::byte> room_;

 public:
  CodeChunk(std::size_t rows, std::size_t plane_bytes)
      : room_(2 * rows * (sizeof(kernels::RowFacts) + plane_bytes)),
        high_facts(reinterpret_cast<kernels::RowFacts*>(room_.data()), rows),
        facts(high_facts.data() + rows, rows),
        high(reinterpret_cast<std::uint8_t*>(facts.data() + rows), rows * plane_bytes),
        low(high.data() + rows * plane_bytes, rows * plane_bytes) {}

  CodeChunk(const CodeChunk&) = delete;
  CodeChunk& operator=(const CodeChunk&) = delete;

  void set(std::size_t row, const codecs::CodeFacts& of) noexcept {
    high_facts[row] = codecs::pack(of.scale, of.high_norm, of.high_residual);
    facts[row] = codecs::pack(of.scale, of.norm, of.residual);
  }
  float scale(std::size_t row) const noexcept {
    return std::bit_cast<float>(static_cast<std::uint32_t>(facts[row] >> 32) & 0xFFFF0000U);
  }

  std::span<kernels::RowFacts> high_facts;  // [rows], of what the high plane alone decodes to
  std::span<kernels::RowFacts> facts;       // [rows], of both planes
  std::span<std::uint8_t> high;             // [rows, plane_bytes]
  std::span<std::uint8_t> low;              // [rows, plane_bytes]
};

using ChunkList = std::vector<std::shared_ptr<Chunk>>;
using CodeChunkList = std::vector<std::shared_ptr<CodeChunk>>;

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
  /// Chunks needed for `rows` rows.
  static std::size_t count(std::size_t rows) noexcept { return rows == 0 ? 0 : of(rows - 1) + 1; }
};

}  // namespace evidex::index
