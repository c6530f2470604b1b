// SPDX-License-Identifier: Apache-2.0
// Scores the permitted rows of a range for a few queries and feeds their selections. Rows are collected
// and scored 64 at a time, for several queries as a tile; for a single query, a word with many permitted
// rows is scored as a block and masked instead. All ways give the same bits: the choice is about time.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/aligned_buffer.hpp"
#include "base/bits.hpp"
#include "index/snapshot.hpp"
#include "kernels/table.hpp"
#include "search/top_k.hpp"

namespace evidex::index {

class RangeScan {
 public:
  /// `queries` holds one prepared vector per selection.
  RangeScan(const Snapshot& snapshot, const kernels::Table& table, const float* queries, std::span<search::TopK> tops)
      : snapshot_(snapshot),
        table_(table),
        kernels_(table.metrics[static_cast<std::size_t>(snapshot.metric.id)]),
        queries_(queries),
        tops_(tops),
        scores_(tops.size() * kRows),
        decoded_(snapshot.codec == codecs::Codec::float32 ? 0 : kRows * snapshot.dim) {
    std::fill_n(scores_.data(), scores_.size(), 0.0F);  // reach() reads all places of a query
  }

  /// Permitted rows of one mask word. Call in any order; finish() once at the end.
  void word(std::size_t index, std::uint64_t bits) {
    if (tops_.size() == 1 && decoded_.size() == 0 && count_bits(bits) >= kDense) {
      block(index * kRows, bits);
    } else {
      collect(index * kRows, bits);
    }
  }

  void finish() { flush(); }

  static constexpr std::size_t kRows = 64;
  // Measured (benchmarks/NOTES.md): below this many of 64 rows, fetching them one by one is quicker
  // than streaming the block.
  static constexpr std::size_t kDense = 32;

 private:
  static constexpr std::size_t kLine = 16;  // floats of a cache line
  static constexpr std::size_t kAhead = 64;

  void block(std::size_t row, std::uint64_t bits) {
    const auto [c, at] = snapshot_.place(row);
    const auto n = static_cast<std::size_t>(std::bit_width(bits));
    const std::size_t dim = snapshot_.dim;
    kernels_.scan(queries_, snapshot_.vector(table_, c, at, nullptr), dim, n, dim, scores_.data());
    std::array<std::size_t, kRows> numbers;
    for (std::size_t i = 0; i < n; ++i) numbers[i] = row + i;
    select(0, bits, numbers.data());
  }

  void collect(std::size_t row, std::uint64_t bits) {
    const auto [c, at] = snapshot_.place(row);
    for (; bits != 0; bits &= bits - 1) {
      const auto bit = static_cast<std::size_t>(std::countr_zero(bits));
      float* scratch = decoded_.size() == 0 ? nullptr : decoded_.data() + waiting_ * snapshot_.dim;
      rows_[waiting_] = snapshot_.vector(table_, c, at + bit, scratch);
      numbers_[waiting_] = row + bit;
      if (scratch == nullptr) {  // its start is on its way while others are collected, the rest follows by itself
        for (std::size_t i = 0; i < std::min(snapshot_.dim, kAhead); i += kLine)
          __builtin_prefetch(rows_[waiting_] + i);
      }
      if (++waiting_ == kRows) flush();
    }
  }

  void flush() {
    if (waiting_ == 0) return;
    if (tops_.size() == 1) {
      kernels_.gather(queries_, rows_.data(), waiting_, snapshot_.dim, scores_.data());
    } else {
      kernels_.tile(queries_, tops_.size(), rows_.data(), waiting_, snapshot_.dim, scores_.data(), kRows);
    }
    const std::uint64_t bits = ~std::uint64_t{0} >> (kRows - waiting_);
    for (std::size_t q = 0; q < tops_.size(); ++q) select(q, bits, numbers_.data());
    waiting_ = 0;
  }

  /// Ids and groups are looked up for the few rows that are taken: reading them for all costs cache lines.
  void select(std::size_t q, std::uint64_t bits, const std::size_t* numbers) {
    const float* scores = scores_.data() + q * kRows;
    search::TopK& top = tops_[q];
    std::uint64_t reached = table_.reach(scores, top.threshold()) & bits;
    for (; reached != 0; reached &= reached - 1) {
      const auto i = static_cast<std::size_t>(std::countr_zero(reached));
      const std::size_t row = numbers[i];
      top.push({scores[i], snapshot_.id(row), snapshot_.group(row), static_cast<std::uint32_t>(row)});
    }
  }

  const Snapshot& snapshot_;
  const kernels::Table& table_;
  const kernels::MetricKernels kernels_;
  const float* queries_;
  std::span<search::TopK> tops_;
  std::size_t waiting_ = 0;
  AlignedBuffer<float> scores_;   // [queries, kRows]
  AlignedBuffer<float> decoded_;  // [kRows, dim] where rows are not stored as float32
  std::array<const float*, kRows> rows_;
  std::array<std::size_t, kRows> numbers_;  // of the rows that wait
};

}  // namespace evidex::index
