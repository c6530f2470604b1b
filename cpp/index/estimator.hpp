// SPDX-License-Identifier: Apache-2.0
// Pass 1 of the pre-scan: estimates and upper bounds from codes, for one worker's share of the rows.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "index/bounds.hpp"

namespace evidex::index {

/// How much of the codes pass 1 reads.
enum class Level : std::uint8_t { high, both };

class Estimator {
 public:
  /// `seeds` take the best rows by estimate, a hit's id being the row's number.
  Estimator(const Tile& tile, Bounds& bounds, Level level, std::span<search::TopK> seeds);

  /// Permitted rows of one mask word, each word once; finish() at the end.
  void word(std::size_t index, std::uint64_t bits) {
    if (bounds_.dense(bits, index == after_block_)) {
      block(index, bits);
      after_block_ = index + 1;
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
    std::array<std::uint32_t, kRows> rows;
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
  void select(std::size_t q, std::uint64_t bits, const std::uint32_t* rows);

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
  std::size_t after_block_ = ~std::size_t{0};  // the word that follows the last one read as a block
  // Rows that wait to be scored together: those of one batch are on their way to the cache while the next one fills.
  std::array<Scattered, 2> waiting_;
  std::size_t filling_ = 0;
};

}  // namespace evidex::index
