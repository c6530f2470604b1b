// SPDX-License-Identifier: Apache-2.0
// What the workers of a pre-scan share: the queries' codes, and an upper bound per query and permitted row. Bounds lie
// in batches of up to 64, in the order in which pass 1 finished them, so that whoever reads them compares 64 at once
// and has no need of the mask: under a sparse one, walking it costs as much as the codes.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "base/bits.hpp"
#include "codecs/error_bound.hpp"
#include "index/tile.hpp"

namespace evidex::index {

/// What is fetched from memory at once.
inline constexpr std::size_t kCacheLine = 64;

/// Rows whose bounds lie together.
struct BoundBatch {
  std::uint64_t bits;  ///< places that count; what the others hold is undefined
  std::size_t word;    ///< the mask word whose 64 rows these are, or kScattered
  static constexpr std::size_t kScattered = ~std::size_t{0};
};

/// From so many of 64 rows on, a mask word is read as a block. Measured (benchmarks/NOTES.md): one query waits for
/// memory, which comes quicker in sequence, and a sequence once begun is best not broken; several queries are bound by
/// sums, which a block has for rows that are not permitted too.
struct Dense {
  std::size_t alone;
  std::size_t after_block;  ///< where the word before it was one; at most `alone`

  static Dense of(std::size_t queries) {
    if (queries == 1) return {20, 8};
    if (queries < 4) return {24, 24};
    return {48, 48};
  }
};

/// Memory for bounds, grown where it is too small, which the next tile can use again.
struct BoundRoom {
  AlignedBuffer<BoundBatch> batches;
  AlignedBuffer<std::uint32_t> rows;  // [batches, 64], of scattered ones
  AlignedBuffer<float> uppers;        // [queries, batches, 64]
};

class Bounds {
 public:
  static constexpr std::size_t kRows = RangeScan::kRows;

  /// For so many estimators, each of which may leave a batch that is not full.
  Bounds(const Tile& tile, std::size_t estimators, BoundRoom& room);

  /// Whether the rows of a mask word are a batch of their own, read as a block.
  bool dense(std::uint64_t bits, bool after_block) const {
    return count_bits(bits) >= (after_block ? dense_.after_block : dense_.alone);
  }

  /// Most batches of so many permitted rows in so many mask words, without looking at the mask. Each dense word is one,
  /// and takes `after_block` rows at least; the rest are scattered rows, 64 to a batch but for the last of each
  /// estimator, and a word that is not dense has fewer than `alone`. One more dense word adds a batch and takes at most
  /// one from the rest, so the most come with as many dense words as there can be.
  static std::size_t most(std::size_t words, std::size_t permitted, Dense dense, std::size_t estimators) {
    const std::size_t blocks = std::min(words, permitted / dense.after_block);
    const std::size_t rest = std::min(permitted - blocks * dense.after_block, (words - blocks) * (dense.alone - 1));
    return blocks + rest / kRows + estimators;
  }

  /// Number of a batch that the caller alone fills.
  std::size_t take() { return taken_.fetch_add(1, std::memory_order_relaxed); }
  std::size_t taken() const { return taken_.load(std::memory_order_relaxed); }
  /// As if none had been taken.
  void clear() { taken_.store(0, std::memory_order_relaxed); }

  BoundBatch& batch(std::size_t i) { return batches_[i]; }
  std::uint32_t* rows(std::size_t batch) { return rows_ + batch * kRows; }
  float* uppers(std::size_t query, std::size_t batch) { return uppers_ + (query * room_ + batch) * kRows; }

  std::size_t bytes;                 ///< of a plane
  AlignedBuffer<std::int8_t> codes;  ///< [queries, 2 * bytes]
  std::vector<codecs::QueryBounds> queries;

 private:
  Dense dense_;
  std::size_t room_;  // batches
  std::atomic<std::size_t> taken_{0};
  BoundBatch* batches_;
  std::uint32_t* rows_;
  float* uppers_;
};

}  // namespace evidex::index
