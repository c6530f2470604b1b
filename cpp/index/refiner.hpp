// SPDX-License-Identifier: Apache-2.0
// Pass 2 of the pre-scan, for one query and one worker's share of the rows, as stages that hand rows on: those whose
// bound of pass 1 reaches the threshold, and of them those whose bound from both planes does.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "index/estimator.hpp"

namespace evidex::index {

/// Hands on the rows whose bits are set, of those with these numbers: together where they share a mask word and follow
/// one another.
template <class Row, class Next>
void hand_on(const Row* rows, std::uint64_t bits, Next& next) {
  std::size_t word = 0;
  std::uint64_t of_word = 0;
  for (; bits != 0; bits &= bits - 1) {
    const std::size_t row = rows[static_cast<std::size_t>(std::countr_zero(bits))];
    if (of_word != 0 && row / RangeScan::kRows != word) {
      next.word(word, of_word);
      of_word = 0;
    }
    word = row / RangeScan::kRows;
    of_word |= std::uint64_t{1} << (row % RangeScan::kRows);
  }
  if (of_word != 0) next.word(word, of_word);
}

/// Hands on what pass 1 left over. A stage leaves a row out only if its bound is below `threshold`; an equal one
/// stays. `Next` takes rows as word(index, bits) does.
template <class Next>
class LeftOver {
 public:
  LeftOver(const Tile& tile, Bounds& bounds, std::size_t query, float threshold, Next& next)
      : tile_(tile), bounds_(bounds), query_(query), threshold_(threshold), next_(next) {}

  /// Of batches [begin, end).
  void read(std::size_t begin, std::size_t end) {
    Pace pace(tile_.stop);
    for (std::size_t i = begin; i < end; ++i) {
      const BoundBatch& batch = bounds_.batch(i);
      const std::uint64_t stays = tile_.table.reach(bounds_.uppers(query_, i), threshold_) & batch.bits;
      pace.step(RangeScan::kRows + count_bits(stays) * tile_.snapshot.dim);
      if (stays == 0) continue;
      if (batch.word == BoundBatch::kScattered) {
        hand_on(bounds_.rows(i), stays, next_);
      } else {
        next_.word(batch.word, stays);
      }
    }
  }

 private:
  const Tile& tile_;
  Bounds& bounds_;
  std::size_t query_;
  float threshold_;
  Next& next_;
};

/// Bounds rows from both planes of their codes and hands on what remains.
template <class Next>
class Refiner {
 public:
  Refiner(const Tile& tile, Bounds& bounds, std::size_t query, float threshold, Next& next)
      : tile_(tile),
        bounds_(bounds),
        query_(query),
        threshold_(threshold),
        bound_(tile.table.metrics[static_cast<std::size_t>(tile.snapshot.metric.id)].bound),
        next_(next) {}

  void word(std::size_t index, std::uint64_t bits) {
    const std::size_t row = index * kRows;
    const auto [c, at] = tile_.snapshot.place(row);
    const CodeChunk& chunk = *(*tile_.snapshot.codes)[c];
    for (; bits != 0; bits &= bits - 1) {
      const auto bit = static_cast<std::size_t>(std::countr_zero(bits));
      const std::size_t i = at + bit;
      Waiting& some = waiting_[filling_];
      some.rows[some.count] = row + bit;
      some.high[some.count] = chunk.high.data() + i * bounds_.bytes;
      some.low[some.count] = chunk.low.data() + i * bounds_.bytes;
      some.facts[some.count] = chunk.facts.data() + i;
      for (std::size_t b = 0; b < bounds_.bytes; b += kCacheLine) {
        __builtin_prefetch(some.high[some.count] + b);
        __builtin_prefetch(some.low[some.count] + b);
      }
      __builtin_prefetch(some.facts[some.count]);
      if (++some.count < kRows) continue;
      filling_ = 1 - filling_;
      pass(waiting_[filling_]);
    }
  }

  /// Bounds the rows that wait; call it once at the end.
  void finish() {
    pass(waiting_[1 - filling_]);
    pass(waiting_[filling_]);
  }

 private:
  static constexpr std::size_t kRows = RangeScan::kRows;

  struct Waiting {
    std::size_t count = 0;
    std::array<std::size_t, kRows> rows;
    std::array<const std::uint8_t*, kRows> high;
    std::array<const std::uint8_t*, kRows> low;
    std::array<const kernels::RowFacts*, kRows> facts;
  };

  void pass(Waiting& some) {
    if (some.count == 0) return;
    hand_on(some.rows.data(), bound(some), next_);
    some.count = 0;
  }

  /// Which of the rows that wait can reach the threshold.
  std::uint64_t bound(const Waiting& some) {
    const std::size_t n = some.count;
    const codecs::QueryBounds& query = bounds_.queries[query_];
    const std::int8_t* codes = bounds_.codes.data() + query_ * 2 * bounds_.bytes;
    const kernels::CodeKernels& kernels = tile_.table.codes;
    std::array<std::int32_t, kRows> high_sums;
    std::array<std::int32_t, kRows> sums;
    kernels.tile(codes, 1, some.high.data(), n, bounds_.bytes, high_sums.data(), kRows);
    kernels.tile(codes, 1, some.low.data(), n, bounds_.bytes, sums.data(), kRows);
    for (std::size_t i = 0; i < n; ++i) sums[i] = query.combined(high_sums[i], sums[i]);
    std::array<float, kRows> scales;
    std::array<float, kRows> norms;
    std::array<float, kRows> residuals;
    std::array<kernels::RowFacts, kRows> facts;
    for (std::size_t i = 0; i < n; ++i) facts[i] = *some.facts[i];
    kernels.unpack(facts.data(), n, scales.data(), norms.data(), residuals.data());
    std::array<float, kRows> estimates;
    std::array<float, kRows> uppers;
    uppers.fill(-std::numeric_limits<float>::infinity());
    bound_(query.full, sums.data(), scales.data(), norms.data(), residuals.data(), n, estimates.data(), uppers.data());
    return tile_.table.reach(uppers.data(), threshold_) & (~std::uint64_t{0} >> (kRows - n));
  }

  const Tile& tile_;
  Bounds& bounds_;
  std::size_t query_;
  float threshold_;
  kernels::Bound bound_;
  Next& next_;
  // Rows of one batch are on their way to the cache while the next one fills.
  std::array<Waiting, 2> waiting_;
  std::size_t filling_ = 0;
};

}  // namespace evidex::index
