// SPDX-License-Identifier: Apache-2.0
// Pass 1 of the pre-scan: estimates and upper bounds from codes, for one worker's share of the rows.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "base/bits.hpp"
#include "codecs/error_bound.hpp"
#include "index/tile.hpp"

namespace evidex::index {

/// What the workers of a pre-scan share: the queries' codes, and an upper bound per query and permitted row. A mask
/// word with many rows has 64 places, so that a block of them is bounded and compared as it lies; one with few has as
/// many as rows, so that the bounds of a sparse mask stay in the cache.
struct Bounds {
  /// `room` is grown where it is too small and may be used again for the next tile.
  Bounds(const Tile& tile, AlignedBuffer<float>& room);

  static bool dense(std::uint64_t bits) { return count_bits(bits) >= kDense; }
  float* upper(std::size_t query, std::size_t word) { return uppers + query * places + first_place[word]; }

  std::size_t bytes;  ///< of a plane
  std::size_t words;
  AlignedBuffer<std::int8_t> codes;  ///< [queries, 2 * bytes]
  std::vector<codecs::QueryBounds> queries;
  AlignedBuffer<std::size_t> first_place;  ///< [words], set where rows are permitted
  std::size_t places = 0;                  ///< per query
  float* uppers;                           ///< [queries, places]

 private:
  // Measured (benchmarks/NOTES.md): below this many of 64 rows, fetching their codes one by one is quicker.
  static constexpr std::size_t kDense = 16;
};

/// How much of the codes pass 1 reads.
enum class Level : std::uint8_t { high, both };

class Estimator {
 public:
  /// `seeds` take the best rows by estimate, a hit's id being the row's number.
  Estimator(const Tile& tile, Bounds& bounds, Level level, std::span<search::TopK> seeds);

  /// Permitted rows of one mask word; finish() once at the end.
  void word(std::size_t index, std::uint64_t bits) {
    if (Bounds::dense(bits)) {
      block(index, bits);
    } else {
      collect(index, bits);
    }
  }
  void finish();

 private:
  static constexpr std::size_t kRows = RangeScan::kRows;

  /// Rows anywhere in the codes.
  struct Scattered {
    std::size_t count = 0;
    std::array<const std::uint8_t*, kRows> high;
    std::array<const std::uint8_t*, kRows> low;
    std::array<const kernels::RowFacts*, kRows> facts;
    std::array<std::int64_t, kRows> rows;
    std::array<std::size_t, kRows> places;
  };

  void score_planes(const std::uint8_t* planes, std::size_t n, std::int32_t* sums);
  void block(std::size_t word, std::uint64_t bits);
  void collect(std::size_t word, std::uint64_t bits);
  void score(Scattered& some);
  const kernels::RowFacts* facts(const CodeChunk& chunk) const {
    return level_ == Level::high ? chunk.high_facts.data() : chunk.facts.data();
  }
  void combine(std::size_t n);
  void bound(std::size_t q, std::size_t n, float* uppers) {
    const codecs::QueryBounds& query = bounds_.queries[q];
    bound_(level_ == Level::high ? query.high : query.full, sums_.data() + q * kRows, scales_.data(), norms_.data(),
           residuals_.data(), n, estimates_.data(), uppers);
  }
  void select(std::size_t q, std::uint64_t bits, const std::int64_t* rows);

  const Tile& tile_;
  Bounds& bounds_;
  Level level_;
  kernels::Bound bound_;
  std::span<search::TopK> seeds_;
  std::vector<std::int32_t> sums_;      // [queries, kRows]
  std::vector<std::int32_t> low_sums_;  // the same, where both planes are read
  std::array<float, kRows> estimates_;
  std::array<float, kRows> scales_;
  std::array<float, kRows> norms_;
  std::array<float, kRows> residuals_;
  // Rows that wait to be scored together: those of one batch are on their way to the cache while the next one fills.
  std::array<Scattered, 2> waiting_;
  std::size_t filling_ = 0;
};

}  // namespace evidex::index
