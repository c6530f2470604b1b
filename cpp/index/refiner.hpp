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

/// Hands on what pass 1 left over, of all permitted rows of a word. A stage leaves a row out only if its bound is below `threshold`; an equal one
/// stays. `Next` takes rows as word(index, bits) does.
template <class Next>
class LeftOver {
 public:
  LeftOver(const Tile& tile, Bounds& bounds, std::size_t query, float threshold, Next& next)
      : tile_(tile), bounds_(bounds), query_(query), threshold_(threshold), next_(next) {}

  void word(std::size_t index, std::uint64_t bits) {
    const float* uppers = bounds_.upper(query_, index);
    if (Bounds::dense(bits)) {
      bits &= tile_.table.reach(uppers, threshold_);
    } else {
      for (std::uint64_t rest = bits; rest != 0; rest &= rest - 1) {
        if (*uppers++ < threshold_) bits &= ~(rest & -rest);
      }
    }
    if (bits != 0) next_.word(index, bits);
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
      rows_[waiting_] = row + bit;
      high_[waiting_] = chunk.high.data() + i * bounds_.bytes;
      low_[waiting_] = chunk.low.data() + i * bounds_.bytes;
      facts_[waiting_] = chunk.facts[i];
      if (++waiting_ == kRows) finish();
    }
  }

  /// Bounds the rows that wait; call it once at the end.
  void finish() {
    if (waiting_ == 0) return;
    std::size_t word = 0;
    std::uint64_t bits = 0;
    for (std::uint64_t stays = bound(); stays != 0; stays &= stays - 1) {
      const std::size_t row = rows_[static_cast<std::size_t>(std::countr_zero(stays))];
      if (bits != 0 && row / kRows != word) {
        next_.word(word, bits);
        bits = 0;
      }
      word = row / kRows;
      bits |= std::uint64_t{1} << (row % kRows);
    }
    if (bits != 0) next_.word(word, bits);
    waiting_ = 0;
  }

 private:
  static constexpr std::size_t kRows = RangeScan::kRows;

  /// Which of the rows that wait can reach the threshold.
  std::uint64_t bound() {
    const codecs::QueryBounds& query = bounds_.queries[query_];
    const std::int8_t* codes = bounds_.codes.data() + query_ * 2 * bounds_.bytes;
    const kernels::CodeKernels& kernels = tile_.table.codes;
    std::array<std::int32_t, kRows> high_sums;
    std::array<std::int32_t, kRows> sums;
    kernels.tile(codes, 1, high_.data(), waiting_, bounds_.bytes, high_sums.data(), kRows);
    kernels.tile(codes, 1, low_.data(), waiting_, bounds_.bytes, sums.data(), kRows);
    for (std::size_t i = 0; i < waiting_; ++i) sums[i] = query.combined(high_sums[i], sums[i]);
    std::array<float, kRows> scales;
    std::array<float, kRows> norms;
    std::array<float, kRows> residuals;
    kernels.unpack(facts_.data(), waiting_, scales.data(), norms.data(), residuals.data());
    std::array<float, kRows> estimates;
    std::array<float, kRows> uppers;
    uppers.fill(-std::numeric_limits<float>::infinity());
    bound_(query.full, sums.data(), scales.data(), norms.data(), residuals.data(), waiting_, estimates.data(),
           uppers.data());
    return tile_.table.reach(uppers.data(), threshold_) & (~std::uint64_t{0} >> (kRows - waiting_));
  }

  const Tile& tile_;
  Bounds& bounds_;
  std::size_t query_;
  float threshold_;
  kernels::Bound bound_;
  Next& next_;
  std::size_t waiting_ = 0;
  std::array<std::size_t, kRows> rows_;
  std::array<const std::uint8_t*, kRows> high_;
  std::array<const std::uint8_t*, kRows> low_;
  std::array<kernels::RowFacts, kRows> facts_;
};

}  // namespace evidex::index
