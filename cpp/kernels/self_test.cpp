// SPDX-License-Identifier: Apache-2.0
#include "kernels/self_test.hpp"

#include <array>
#include <cstddef>
#include <cstring>
#include <limits>

#include "kernels/arch/tables.hpp"
#include "kernels/self_test_values.hpp"

namespace evidex::kernels {
namespace {

constexpr std::size_t kQueries = 5;  // nor of queries
constexpr std::size_t kRows = 7;     // not a multiple of any number of rows kept together
constexpr std::size_t kMaxDim = 67;

bool same_bits(const float* a, const float* b, std::size_t n) { return std::memcmp(a, b, n * sizeof(float)) == 0; }

bool metric_agrees(const MetricKernels& mine, const MetricKernels& reference, const float* query, const float* rows,
                   std::size_t dim) {
  std::array<const float*, kRows> pointers;
  for (std::size_t r = 0; r < kRows; ++r) pointers[r] = rows + r * kMaxDim;
  std::array<float, kRows> expected;
  std::array<float, kRows> scores;
  reference.scan(query, rows, kMaxDim, kRows, dim, expected.data());
  mine.scan(query, rows, kMaxDim, kRows, dim, scores.data());
  if (!same_bits(scores.data(), expected.data(), kRows)) return false;
  mine.gather(query, pointers.data(), kRows, dim, scores.data());
  if (!same_bits(scores.data(), expected.data(), kRows)) return false;
  // Rows read from their start serve as queries that lie one after the other.
  std::array<float, kQueries * kRows> tile;
  mine.tile(rows, kQueries, pointers.data(), kRows, dim, tile.data(), kRows);
  for (std::size_t q = 0; q < kQueries; ++q) {
    reference.scan(rows + q * dim, rows, kMaxDim, kRows, dim, expected.data());
    if (!same_bits(tile.data() + q * kRows, expected.data(), kRows)) return false;
  }
  return true;
}

}  // namespace

bool agrees_with_scalar(const Table& table) {
  Values values;
  std::array<float, kMaxDim> query;
  std::array<float, kRows * kMaxDim> rows;
  for (float& v : query) v = values.next();
  for (float& v : rows) v = values.next();
  for (const std::size_t dim : {1UL, 7UL, 8UL, 15UL, 16UL, 17UL, 31UL, 32UL, 33UL, kMaxDim}) {
    for (std::size_t m = 0; m < kMetrics.size(); ++m) {
      if (!metric_agrees(table.metrics[m], scalar::kTable.metrics[m], query.data(), rows.data(), dim)) return false;
    }
  }
  // Every lane's products underflow below zero: the sum is -0, and the score +0 all the same.
  query.fill(0x1p-80F);
  rows.fill(-0x1p-80F);
  for (std::size_t m = 0; m < kMetrics.size(); ++m) {
    if (!metric_agrees(table.metrics[m], scalar::kTable.metrics[m], query.data(), rows.data(), 64)) return false;
  }
  std::array<float, 64> scores;
  for (float& v : scores) v = values.next();
  for (const float threshold : {-std::numeric_limits<float>::infinity(), 0.0F, scores[17], 1.0F}) {
    if (table.reach(scores.data(), threshold) != scalar::kTable.reach(scores.data(), threshold)) return false;
  }
  return codes_agree_with_scalar(table);
}

}  // namespace evidex::kernels
