// SPDX-License-Identifier: Apache-2.0
#include "index/estimator.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "codecs/int8.hpp"

namespace evidex::index {
Estimator::Estimator(const Tile& tile, Bounds& bounds, Level level, std::span<search::TopK> seeds)
    : tile_(tile),
      bounds_(bounds),
      level_(level),
      bound_(tile.table.metrics[static_cast<std::size_t>(tile.snapshot.metric.id)].bound),
      seeds_(seeds),
      sums_(tile.count * kRows),
      low_sums_(level == Level::both ? tile.count * kRows : 0) {
  estimates_.fill(-std::numeric_limits<float>::infinity());  // all places are compared, those in use count
}

/// Sums of all queries with the planes of n rows in sequence.
void Estimator::score_planes(const std::uint8_t* planes, std::size_t n, std::int32_t* sums) {
  if (tile_.count == 1) {
    tile_.table.codes.scan(bounds_.codes.data(), planes, n, bounds_.bytes, sums);
    return;
  }
  std::array<const std::uint8_t*, kRows> of_rows;
  for (std::size_t i = 0; i < n; ++i) of_rows[i] = planes + i * bounds_.bytes;
  tile_.table.codes.tile(bounds_.codes.data(), tile_.count, of_rows.data(), n, bounds_.bytes, sums, kRows);
}

/// From the sums of both planes to those of whole codes.
void Estimator::combine(std::size_t n) {
  for (std::size_t q = 0; q < tile_.count; ++q) {
    std::int32_t* sums = sums_.data() + q * kRows;
    for (std::size_t i = 0; i < n; ++i) sums[i] = bounds_.queries[q].combined(sums[i], low_sums_[q * kRows + i]);
  }
}

void Estimator::block(std::size_t word, std::uint64_t bits) {
  const std::size_t row = word * kRows;
  const auto [c, at] = tile_.snapshot.place(row);
  const CodeChunk& chunk = *(*tile_.snapshot.codes)[c];
  // All rows of the chunk, permitted or not: a sequence with gaps is not fetched ahead (benchmarks/NOTES.md).
  const std::size_t n = std::min(kRows, tile_.snapshot.rows_of_chunk(c) - at);
  score_planes(chunk.high.data() + at * bounds_.bytes, n, sums_.data());
  if (level_ == Level::both) {
    score_planes(chunk.low.data() + at * bounds_.bytes, n, low_sums_.data());
    combine(n);
  }
  tile_.table.codes.unpack(facts(chunk) + at, n, scales_.data(), norms_.data(), residuals_.data());
  const std::size_t batch = bounds_.take();
  bounds_.batch(batch) = {bits, word};
  std::array<std::uint32_t, kRows> rows;
  for (std::size_t i = 0; i < kRows; ++i) rows[i] = static_cast<std::uint32_t>(row + i);
  for (std::size_t q = 0; q < tile_.count; ++q) {
    bound(q, n, bounds_.uppers(q, batch));
    select(q, bits, rows.data());
  }
}

void Estimator::collect(std::size_t word, std::uint64_t bits) {
  const std::size_t row = word * kRows;
  const auto [c, at] = tile_.snapshot.place(row);
  const CodeChunk& chunk = *(*tile_.snapshot.codes)[c];
  // Kept here, since what is written below might as well be a member for all that the compiler knows.
  const std::size_t bytes = bounds_.bytes;
  const bool both = level_ == Level::both;
  const std::uint8_t* high = chunk.high.data() + at * bytes;
  const std::uint8_t* low = chunk.low.data() + at * bytes;
  const kernels::RowFacts* of_rows = facts(chunk) + at;
  Scattered* some = &waiting_[filling_];
  std::size_t count = some->count;
  for (; bits != 0; bits &= bits - 1) {
    const auto bit = static_cast<std::size_t>(std::countr_zero(bits));
    some->rows[count] = static_cast<std::uint32_t>(row + bit);
    some->facts[count] = of_rows + bit;
    __builtin_prefetch(of_rows + bit);
    some->high[count] = high + bit * bytes;
    for (std::size_t b = 0; b < bytes; b += kCacheLine) __builtin_prefetch(high + bit * bytes + b);
    if (both) {
      some->low[count] = low + bit * bytes;
      for (std::size_t b = 0; b < bytes; b += kCacheLine) __builtin_prefetch(low + bit * bytes + b);
    }
    if (++count < kRows) continue;
    some->count = count;
    filling_ = 1 - filling_;
    some = &waiting_[filling_];
    score(*some);
    count = 0;
  }
  some->count = count;
}

void Estimator::finish() {
  score(waiting_[1 - filling_]);
  score(waiting_[filling_]);
}

void Estimator::score(Scattered& some) {
  const std::size_t n = std::exchange(some.count, 0);
  if (n == 0) return;
  const kernels::CodeKernels& kernels = tile_.table.codes;
  kernels.tile(bounds_.codes.data(), tile_.count, some.high.data(), n, bounds_.bytes, sums_.data(), kRows);
  if (level_ == Level::both) {
    kernels.tile(bounds_.codes.data(), tile_.count, some.low.data(), n, bounds_.bytes, low_sums_.data(), kRows);
    combine(n);
  }
  std::array<kernels::RowFacts, kRows> facts;
  for (std::size_t i = 0; i < n; ++i) facts[i] = *some.facts[i];
  kernels.unpack(facts.data(), n, scales_.data(), norms_.data(), residuals_.data());
  const std::uint64_t all = ~std::uint64_t{0} >> (kRows - n);
  const std::size_t batch = bounds_.take();
  bounds_.batch(batch) = {all, BoundBatch::kScattered};
  std::copy_n(some.rows.data(), n, bounds_.rows(batch));
  for (std::size_t q = 0; q < tile_.count; ++q) {
    bound(q, n, bounds_.uppers(q, batch));
    select(q, all, some.rows.data());
  }
}

void Estimator::select(std::size_t q, std::uint64_t bits, const std::uint32_t* rows) {
  search::TopK& seeds = seeds_[q];
  std::uint64_t reached = tile_.table.reach(estimates_.data(), seeds.threshold()) & bits;
  for (; reached != 0; reached &= reached - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(reached));
    seeds.push({estimates_[i], static_cast<std::int64_t>(rows[i]), tile_.snapshot.group(rows[i])});
  }
}

}  // namespace evidex::index
