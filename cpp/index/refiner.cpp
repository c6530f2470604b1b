// SPDX-License-Identifier: Apache-2.0
#include "index/refiner.hpp"

#include <bit>
#include <limits>

namespace evidex::index {
namespace {

constexpr std::size_t kCacheLine = 64;

}  // namespace

Refiner::Refiner(const Tile& tile, Bounds& bounds, std::size_t query, float threshold, search::TopK& top)
    : tile_(tile),
      bounds_(bounds),
      query_(query),
      threshold_(threshold),
      bound_(tile.table.metrics[static_cast<std::size_t>(tile.snapshot.metric.id)].bound),
      scan_(tile.snapshot, tile.table, tile.query(query).data(), {&top, 1}) {}

void Refiner::word(std::size_t index, std::uint64_t bits) {
  bits &= tile_.table.reach(bounds_.upper(query_, index), threshold_);
  if (std::popcount(bits) >= RangeScan::kDense) {  // codes tell little here: more of them would not tell more
    scan_.word(index, bits);
    return;
  }
  if (bits == 0) return;
  const std::size_t row = index * kRows;
  const std::size_t c = ChunkOf::of(row);
  const std::size_t at = row - ChunkOf::begin(c);
  const CodeChunk& chunk = *(*tile_.snapshot.codes)[c];
  for (; bits != 0; bits &= bits - 1) {
    const auto bit = static_cast<std::size_t>(std::countr_zero(bits));
    const std::size_t i = at + bit;
    for (std::size_t b = 0; b < bounds_.bytes; b += kCacheLine) {
      __builtin_prefetch(chunk.high.data() + i * bounds_.bytes + b);
      __builtin_prefetch(chunk.low.data() + i * bounds_.bytes + b);
    }
    rows_[waiting_] = row + bit;
    high_[waiting_] = chunk.high.data() + i * bounds_.bytes;
    low_[waiting_] = chunk.low.data() + i * bounds_.bytes;
    scales_[waiting_] = chunk.scales[i];
    norms_[waiting_] = chunk.norms[i];
    residuals_[waiting_] = chunk.residuals[i];
    if (++waiting_ == kRows) flush();
  }
}

void Refiner::flush() {
  if (waiting_ == 0) return;
  const codecs::QueryBounds& query = bounds_.queries[query_];
  const std::int8_t* codes = bounds_.codes.data() + query_ * 2 * bounds_.bytes;
  std::array<std::int32_t, kRows> high_sums;
  std::array<std::int32_t, kRows> sums;
  tile_.table.codes.tile(codes, 1, high_.data(), waiting_, bounds_.bytes, high_sums.data(), kRows);
  tile_.table.codes.tile(codes, 1, low_.data(), waiting_, bounds_.bytes, sums.data(), kRows);
  for (std::size_t i = 0; i < waiting_; ++i) sums[i] = query.combined(high_sums[i], sums[i]);
  std::array<float, kRows> estimates;
  std::array<float, kRows> uppers;
  uppers.fill(-std::numeric_limits<float>::infinity());
  bound_(query.full, sums.data(), scales_.data(), norms_.data(), residuals_.data(), waiting_, estimates.data(),
         uppers.data());
  std::uint64_t stays = tile_.table.reach(uppers.data(), threshold_) & (~std::uint64_t{0} >> (kRows - waiting_));
  for (; stays != 0; stays &= stays - 1) {
    const std::size_t row = rows_[static_cast<std::size_t>(std::countr_zero(stays))];
    scan_.word(row / kRows, std::uint64_t{1} << (row % kRows));
  }
  waiting_ = 0;
}

}  // namespace evidex::index
