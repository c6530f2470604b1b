// SPDX-License-Identifier: Apache-2.0
// Scores the permitted rows of a range for a few queries and feeds their selections. Words with many
// permitted rows are scored as a block of 64 and masked; the rows of other words are collected and
// gathered 64 at a time. Both give the same bits, so the choice is only about time.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "index/snapshot.hpp"
#include "kernels/table.hpp"
#include "search/top_k.hpp"

namespace evidex::index {

class RangeScan {
 public:
  /// `queries` holds one prepared vector per selection.
  RangeScan(const Snapshot& snapshot, const kernels::Table& table, const float* queries, std::span<search::TopK> tops)
      : snapshot_(snapshot),
        kernels_(table.metrics[static_cast<std::size_t>(snapshot.metric.id)]),
        reach_(table.reach),
        queries_(queries),
        tops_(tops) {
    scores_.fill(0);  // reach() reads all 64 places
  }

  /// Permitted rows of one mask word. Call in any order; finish() once at the end.
  void word(std::size_t index, std::uint64_t bits) {
    if (std::popcount(bits) >= kDense) {
      block(index * kRows, bits);
    } else {
      collect(index * kRows, bits);
    }
  }

  void finish() { flush(); }

 private:
  static constexpr std::size_t kRows = 64;
  // Measured (benchmarks/NOTES.md): below this many of 64 rows, fetching them one by one is quicker
  // than streaming the block.
  static constexpr int kDense = 32;

  void block(std::size_t row, std::uint64_t bits) {
    const std::size_t c = ChunkOf::of(row);
    const Chunk& chunk = *(*snapshot_.chunks)[c];
    const std::size_t at = row - ChunkOf::begin(c);
    const auto n = static_cast<std::size_t>(std::bit_width(bits));
    const std::size_t dim = snapshot_.dim;
    for (std::size_t q = 0; q < tops_.size(); ++q) {
      kernels_.scan(queries_ + q * dim, chunk.vectors.data() + at * dim, dim, n, dim, scores_.data());
      select(tops_[q], bits, chunk.ids.data() + at);
    }
  }

  void collect(std::size_t row, std::uint64_t bits) {
    const std::size_t c = ChunkOf::of(row);
    const Chunk& chunk = *(*snapshot_.chunks)[c];
    const std::size_t at = row - ChunkOf::begin(c);
    for (; bits != 0; bits &= bits - 1) {
      const std::size_t i = at + static_cast<std::size_t>(std::countr_zero(bits));
      rows_[waiting_] = chunk.vectors.data() + i * snapshot_.dim;
      ids_[waiting_] = chunk.ids[i];
      if (++waiting_ == kRows) flush();
    }
  }

  void flush() {
    if (waiting_ == 0) return;
    const std::uint64_t bits = ~std::uint64_t{0} >> (kRows - waiting_);
    for (std::size_t q = 0; q < tops_.size(); ++q) {
      kernels_.gather(queries_ + q * snapshot_.dim, rows_.data(), waiting_, snapshot_.dim, scores_.data());
      select(tops_[q], bits, ids_.data());
    }
    waiting_ = 0;
  }

  void select(search::TopK& top, std::uint64_t bits, const std::int64_t* ids) {
    std::uint64_t reached = reach_(scores_.data(), top.threshold()) & bits;
    for (; reached != 0; reached &= reached - 1) {
      const auto i = static_cast<std::size_t>(std::countr_zero(reached));
      top.push({scores_[i], ids[i]});
    }
  }

  const Snapshot& snapshot_;
  const kernels::MetricKernels kernels_;
  const kernels::Reach reach_;
  const float* queries_;
  std::span<search::TopK> tops_;
  std::size_t waiting_ = 0;
  alignas(64) std::array<float, kRows> scores_;
  std::array<const float*, kRows> rows_;
  std::array<std::int64_t, kRows> ids_;
};

}  // namespace evidex::index
