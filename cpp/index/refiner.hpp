// SPDX-License-Identifier: Apache-2.0
// Pass 2 of the pre-scan, for one query and one worker's share of the rows: whatever can still reach the
// threshold by the high plane's bound is bounded again from both planes, and what remains is scored.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "index/estimator.hpp"

namespace evidex::index {

class Refiner {
 public:
  /// Rows whose bound is below `threshold` are left out; an equal one stays.
  Refiner(const Tile& tile, Bounds& bounds, std::size_t query, float threshold, search::TopK& top);

  void word(std::size_t index, std::uint64_t bits);
  void finish() {
    flush();
    scan_.finish();
  }

 private:
  static constexpr std::size_t kRows = RangeScan::kRows;

  void flush();

  const Tile& tile_;
  Bounds& bounds_;
  std::size_t query_;
  float threshold_;
  kernels::Bound bound_;
  RangeScan scan_;
  std::size_t waiting_ = 0;
  std::array<std::size_t, kRows> rows_;
  std::array<const std::uint8_t*, kRows> high_;
  std::array<const std::uint8_t*, kRows> low_;
  std::array<float, kRows> scales_;
  std::array<float, kRows> norms_;
  std::array<float, kRows> residuals_;
};

}  // namespace evidex::index
