// SPDX-License-Identifier: Apache-2.0
// Storage of rows. Chunks are never moved, resized or rewritten, so a reader needs no lock for the rows it already
// knows. Their memory is their own, or somebody else's that they keep alive, such as a mapped file; rows of the second
// kind were complete when the chunk was made, and nothing writes there.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "codecs/int8.hpp"

namespace evidex::index {

/// What keeps memory alive that a chunk does not own.
using Keeper = std::shared_ptr<const void>;

class Chunk {
  AlignedBuffer<std::byte> own_vectors_;
  AlignedBuffer<std::int64_t> own_ids_;
  AlignedBuffer<std::int64_t> own_groups_;
  AlignedBuffer<std::uint32_t> own_owners_;
  std::vector<Keeper> keepers_;

 public:
  Chunk(std::size_t rows, std::size_t row_bytes)
      : own_vectors_(rows * row_bytes),
        own_ids_(rows),
        own_groups_(rows),
        own_owners_(rows),
        vectors(own_vectors_.data(), own_vectors_.size()),
        ids(own_ids_.data(), rows),
        groups(own_groups_.data(), rows),
        owners(own_owners_.data(), rows) {}

  /// Over memory of others; only the owners, which no file knows, are its own.
  Chunk(std::span<std::byte> of_vectors, std::span<std::int64_t> of_ids, std::span<std::int64_t> of_groups,
        std::vector<Keeper> keepers)
      : own_owners_(of_ids.size()),
        keepers_(std::move(keepers)),
        vectors(of_vectors),
        ids(of_ids),
        groups(of_groups),
        owners(own_owners_.data(), of_ids.size()) {}
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;

  std::span<std::byte> vectors;     // [rows, row_bytes]: components in the codec's form; none for int8
  std::span<std::int64_t> ids;      // [rows]
  std::span<std::int64_t> groups;   // [rows]
  std::span<std::uint32_t> owners;  // [rows]
};

/// int8 codes of a chunk's rows: beside the vectors, or instead of them. In one buffer, which is then large enough
/// for huge pages: facts of scattered rows cost as much as their codes where each has a page to look up.
class CodeChunk {
  AlignedBuffer<std::byte> room_;
  std::vector<Keeper> keepers_;

 public:
  CodeChunk(std::size_t rows, std::size_t plane_bytes)
      : room_(2 * rows * (sizeof(kernels::RowFacts) + plane_bytes)),
        high_facts(reinterpret_cast<kernels::RowFacts*>(room_.data()), rows),
        facts(high_facts.data() + rows, rows),
        high(reinterpret_cast<std::uint8_t*>(facts.data() + rows), rows * plane_bytes),
        low(high.data() + rows * plane_bytes, rows * plane_bytes) {}

  /// Over memory of others. `of_facts` holds those of the high planes first, then those of both.
  CodeChunk(std::span<kernels::RowFacts> of_facts, std::span<std::uint8_t> of_high, std::span<std::uint8_t> of_low,
            std::vector<Keeper> keepers)
      : keepers_(std::move(keepers)),
        high_facts(of_facts.first(of_facts.size() / 2)),
        facts(of_facts.last(of_facts.size() / 2)),
        high(of_high),
        low(of_low) {}
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

}  // namespace evidex::index
