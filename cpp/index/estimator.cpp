// SPDX-License-Identifier: Apache-2.0
#include "index/estimator.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "codecs/int8.hpp"

namespace evidex::index {
namespace {

constexpr std::size_t kCacheLine = 64;

}  // namespace

Bounds::Bounds(const Tile& tile, AlignedBuffer<float>& room)
    : bytes(codecs::plane_bytes(tile.snapshot.dim)),
      words(tile.snapshot.words()),
      codes(tile.count * 2 * bytes),
      first_place(words) {
  tile.snapshot.for_each_permitted(tile.allow, 0, words, [&](std::size_t i, std::uint64_t bits) {
    first_place[i] = places;
    places += dense(bits) ? RangeScan::kRows : count_bits(bits);
  });
  const std::size_t needed = tile.count * places;
  if (room.size() < needed) room = AlignedBuffer<float>(needed);
  uppers = room.data();
  queries.reserve(tile.count);
  for (std::size_t q = 0; q < tile.count; ++q) {
    queries.push_back(codecs::bound_query(tile.snapshot.metric, *tile.snapshot.reference, tile.query(q).data(),
                                          {codes.data() + q * 2 * bytes, 2 * bytes}));
  }
}

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
  const auto n = static_cast<std::size_t>(std::bit_width(bits));
  score_planes(chunk.high.data() + at * bounds_.bytes, n, sums_.data());
  if (level_ == Level::both) {
    score_planes(chunk.low.data() + at * bounds_.bytes, n, low_sums_.data());
    combine(n);
  }
  tile_.table.codes.unpack(facts(chunk) + at, n, scales_.data(), norms_.data(), residuals_.data());
  std::array<std::int64_t, kRows> rows;
  for (std::size_t i = 0; i < kRows; ++i) rows[i] = static_cast<std::int64_t>(row + i);
  for (std::size_t q = 0; q < tile_.count; ++q) {
    bound(q, n, bounds_.upper(q, word));
    select(q, bits, rows.data());
  }
}

void Estimator::collect(std::size_t word, std::uint64_t bits) {
  const std::size_t row = word * kRows;
  const auto [c, at] = tile_.snapshot.place(row);
  const CodeChunk& chunk = *(*tile_.snapshot.codes)[c];
  for (std::size_t place = bounds_.first_place[word]; bits != 0; bits &= bits - 1) {
    const auto bit = static_cast<std::size_t>(std::countr_zero(bits));
    const std::size_t i = at + bit;
    Scattered& some = waiting_[filling_];
    some.high[some.count] = chunk.high.data() + i * bounds_.bytes;
    some.low[some.count] = chunk.low.data() + i * bounds_.bytes;
    some.facts[some.count] = facts(chunk) + i;
    some.rows[some.count] = static_cast<std::int64_t>(row + bit);
    some.places[some.count] = place++;
    for (std::size_t b = 0; b < bounds_.bytes; b += kCacheLine) {
      __builtin_prefetch(some.high[some.count] + b);
      if (level_ == Level::both) __builtin_prefetch(some.low[some.count] + b);
    }
    __builtin_prefetch(some.facts[some.count]);
    if (++some.count < kRows) continue;
    filling_ = 1 - filling_;
    score(waiting_[filling_]);
  }
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
  std::array<float, kRows> uppers;
  for (std::size_t q = 0; q < tile_.count; ++q) {
    bound(q, n, uppers.data());
    float* of_query = bounds_.uppers + q * bounds_.places;
    for (std::size_t i = 0; i < n; ++i) of_query[some.places[i]] = uppers[i];
    select(q, all, some.rows.data());
  }
}

void Estimator::select(std::size_t q, std::uint64_t bits, const std::int64_t* rows) {
  search::TopK& seeds = seeds_[q];
  std::uint64_t reached = tile_.table.reach(estimates_.data(), seeds.threshold()) & bits;
  for (; reached != 0; reached &= reached - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(reached));
    seeds.push({estimates_[i], rows[i], tile_.snapshot.group(static_cast<std::size_t>(rows[i]))});
  }
}

}  // namespace evidex::index
