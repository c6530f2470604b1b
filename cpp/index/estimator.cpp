// SPDX-License-Identifier: Apache-2.0
#include "index/estimator.hpp"

#include <algorithm>
#include <limits>

#include "codecs/int8.hpp"

namespace evidex::index {

Bounds::Bounds(const Tile& tile, AlignedBuffer<float>& room)
    : bytes(codecs::plane_bytes(tile.snapshot.dim)), words(tile.snapshot.words()), codes(tile.count * 2 * bytes) {
  const std::size_t needed = tile.count * words * RangeScan::kRows;
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
  const std::size_t c = ChunkOf::of(row);
  const std::size_t at = row - ChunkOf::begin(c);
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
  const std::size_t c = ChunkOf::of(row);
  const std::size_t at = row - ChunkOf::begin(c);
  const CodeChunk& chunk = *(*tile_.snapshot.codes)[c];
  for (; bits != 0; bits &= bits - 1) {
    const auto bit = static_cast<std::size_t>(std::countr_zero(bits));
    const std::size_t i = at + bit;
    planes_[waiting_] = chunk.high.data() + i * bounds_.bytes;
    low_planes_[waiting_] = chunk.low.data() + i * bounds_.bytes;
    facts_[waiting_] = facts(chunk)[i];
    rows_[waiting_] = static_cast<std::int64_t>(row + bit);
    if (++waiting_ == kRows) flush();
  }
}

void Estimator::flush() {
  if (waiting_ == 0) return;
  tile_.table.codes.tile(bounds_.codes.data(), tile_.count, planes_.data(), waiting_, bounds_.bytes, sums_.data(),
                         kRows);
  if (level_ == Level::both) {
    tile_.table.codes.tile(bounds_.codes.data(), tile_.count, low_planes_.data(), waiting_, bounds_.bytes,
                           low_sums_.data(), kRows);
    combine(waiting_);
  }
  tile_.table.codes.unpack(facts_.data(), waiting_, scales_.data(), norms_.data(), residuals_.data());
  const std::uint64_t all = ~std::uint64_t{0} >> (kRows - waiting_);
  for (std::size_t q = 0; q < tile_.count; ++q) {
    bound(q, waiting_, uppers_.data());
    float* uppers = bounds_.upper(q, 0);
    for (std::size_t i = 0; i < waiting_; ++i) uppers[rows_[i]] = uppers_[i];
    select(q, all, rows_.data());
  }
  waiting_ = 0;
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
