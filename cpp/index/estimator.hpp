// SPDX-License-Identifier: Apache-2.0
// Pass 1 of the pre-scan: estimates and upper bounds from the high planes, for one worker's share of the rows.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "codecs/error_bound.hpp"
#include "index/tile.hpp"

namespace evidex::index {

/// What the workers of a pre-scan share: the queries' codes, and an upper bound per query and row.
struct Bounds {
  /// `room` is grown where it is too small and may be used again for the next tile.
  Bounds(const Tile& tile, AlignedBuffer<float>& room);

  float* upper(std::size_t query, std::size_t word) { return uppers + (query * words + word) * RangeScan::kRows; }

  std::size_t bytes;  ///< of a plane
  std::size_t words;
  AlignedBuffer<std::int8_t> codes;  ///< [queries, 2 * bytes]
  std::vector<codecs::QueryBounds> queries;
  float* uppers;  ///< [queries, words, 64], written where rows are permitted
};

class Estimator {
 public:
  /// `seeds` take the best rows by estimate, a hit's id being the row's number.
  Estimator(const Tile& tile, Bounds& bounds, std::span<search::TopK> seeds);

  /// Permitted rows of one mask word; finish() once at the end.
  void word(std::size_t index, std::uint64_t bits) {
    if (std::popcount(bits) >= RangeScan::kDense) {
      block(index, bits);
    } else {
      collect(index, bits);
    }
  }
  void finish() { flush(); }

 private:
  static constexpr std::size_t kRows = RangeScan::kRows;

  void block(std::size_t word, std::uint64_t bits);
  void collect(std::size_t word, std::uint64_t bits);
  void flush();
  void select(std::size_t q, std::uint64_t bits, const std::int64_t* rows, const std::int64_t* groups);

  const Tile& tile_;
  Bounds& bounds_;
  kernels::Bound bound_;
  std::span<search::TopK> seeds_;
  std::size_t waiting_ = 0;
  std::vector<std::int32_t> sums_;  // [queries, kRows]
  std::array<const std::uint8_t*, kRows> planes_;
  std::array<float, kRows> estimates_;
  // Of rows that wait to be scored together:
  std::array<float, kRows> uppers_;
  std::array<float, kRows> scales_;
  std::array<float, kRows> norms_;
  std::array<float, kRows> residuals_;
  std::array<std::int64_t, kRows> rows_;
  std::array<std::int64_t, kRows> groups_;
};

}  // namespace evidex::index
