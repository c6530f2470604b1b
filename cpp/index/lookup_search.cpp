// SPDX-License-Identifier: Apache-2.0
#include "index/lookup_search.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/bits.hpp"
#include "base/float_state.hpp"
#include "index/prepare.hpp"
#include "kernels/dispatch.hpp"

namespace evidex::index {
namespace {

using search::Hit;
using search::TopK;

/// Each query's tables.
struct Tables {
  std::size_t bytes;  // of one query's
  AlignedBuffer<std::uint8_t> entries;
  std::vector<kernels::LookupTerms> terms;

  Tables(const Tile& tile, const codecs::LookupModel& model)
      : bytes(model.positions * kernels::kLookupTable), entries(tile.count * bytes) {
    for (std::size_t q = 0; q < tile.count; ++q) {
      terms.push_back(codecs::lookup_tables(model, tile.query(q).data(), {entries.data() + q * bytes, bytes}));
    }
  }
};

/// Whether no row can reach the threshold whose sum is not above `largest`, nor its facts above `most`. Never so where
/// rounding could decide.
bool falls_short(const kernels::LookupTerms& terms, std::uint16_t largest, const LookupMost& most, float threshold) {
  constexpr double kRounding = 0x1p-20;  // several times what the few roundings of an estimate come to
  const auto base = static_cast<double>(terms.base);
  const auto addend = static_cast<double>(most.addend);
  const auto factor = static_cast<double>(most.factor);
  const double sum = static_cast<double>(terms.low) + static_cast<double>(terms.step) * largest;
  const double sizes = std::fabs(base) + std::fabs(addend) + std::fabs(static_cast<double>(threshold)) +
                       factor * (std::fabs(static_cast<double>(terms.low)) + std::fabs(sum));
  const double needed = static_cast<double>(threshold) - base - addend - kRounding * sizes;
  return needed > 0 && factor * sum < needed;
}

/// Estimates the permitted rows of mask words. Where they tie, the row that lies first counts as better.
class LookupScan {
 public:
  LookupScan(const Tile& tile, const LookupView& codes, const Tables& tables, std::span<TopK> tops)
      : table_(tile.table), codes_(codes), tables_(tables), tops_(tops) {}

  void word(std::size_t index, std::uint64_t bits) {
    const std::uint8_t* block = codes_.codes(index);
    const kernels::LookupFacts* facts = codes_.facts(index);
    const LookupMost& most = codes_.most(index);
    for (std::size_t q = 0; q < tops_.size(); ++q) {
      const std::uint16_t largest =
          table_.lookups.sums(block, tables_.entries.data() + q * tables_.bytes, codes_.model->positions, sums_.data());
      if (falls_short(tables_.terms[q], largest, most, tops_[q].threshold())) continue;
      table_.lookups.estimates(tables_.terms[q], sums_.data(), facts, estimates_.data());
      TopK& top = tops_[q];
      std::uint64_t reached = table_.reach(estimates_.data(), top.threshold()) & bits;
      for (; reached != 0; reached &= reached - 1) {
        const auto i = static_cast<std::size_t>(std::countr_zero(reached));
        const std::size_t row = index * RangeScan::kRows + i;
        top.push({estimates_[i], static_cast<std::int64_t>(row), 0, static_cast<std::uint32_t>(row)});
      }
    }
    rows_ += count_bits(bits);
  }

  /// Rows estimated, per query.
  std::size_t rows() const { return rows_; }

 private:
  const kernels::Table& table_;
  const LookupView& codes_;
  const Tables& tables_;
  std::span<TopK> tops_;
  std::size_t rows_ = 0;
  alignas(64) std::array<std::uint16_t, kernels::kLookupRows> sums_;
  alignas(64) std::array<float, kernels::kLookupRows> estimates_;
};

struct Estimated {
  std::vector<TopK> tops;
  std::size_t rows;
};

Estimated estimate(const Tile& tile, const LookupView& codes, std::size_t candidates, unsigned workers) {
  const Tables tables(tile, *codes.model);
  std::atomic<std::size_t> rows{0};
  std::vector<TopK> tops = select_from(
      0, std::min(codes.words, tile.snapshot.words()), workers,
      [&] { return std::vector<TopK>(tile.count, TopK(candidates)); },
      [&](Ranges& ranges, std::span<TopK> mine) {
        LookupScan scan(tile, codes, tables, mine);
        ranges.drain([&](std::size_t begin, std::size_t end) { tile.for_each_word(begin, end, scan); });
        rows += scan.rows();
      });
  return {std::move(tops), rows};
}

}  // namespace

double SearchCosts::exact(std::size_t permitted, std::size_t words) const {
  const auto rows = static_cast<double>(permitted);
  const double halvings = std::clamp(std::log2(64.0 * static_cast<double>(words) / std::max(rows, 1.0)), 0.0, 6.0);
  const double of_row =
      halvings < 3 ? row + (eighth - row) * halvings / 3 : eighth + (sixty_fourth - eighth) * (halvings - 3) / 3;
  return rows * of_row;
}

double SearchCosts::lookup(std::size_t words, std::size_t candidates) const {
  return start + static_cast<double>(words) * word + static_cast<double>(candidates) * candidate;
}

std::optional<std::vector<TopK>> lookup(const Tile& tile, const LookupView& codes, std::size_t candidates,
                                        unsigned workers) {
  Estimated estimated = estimate(tile, codes, candidates, workers);
  std::vector<TopK> found = tile.selections();
  for (std::size_t q = 0; q < tile.count; ++q) {
    std::vector<Hit> best = estimated.tops[q].best();
    if (best.size() < std::min(candidates, estimated.rows)) return std::nullopt;
    std::sort(best.begin(), best.end(), [](const Hit& a, const Hit& b) { return a.row < b.row; });
    RangeScan scan(tile.snapshot, tile.table, tile.query(q).data(), {&found[q], 1});
    for (const Hit& hit : best) {
      scan.word(hit.row / RangeScan::kRows, std::uint64_t{1} << (hit.row % RangeScan::kRows));
    }
    tile.for_each_word(codes.words, tile.snapshot.words(), scan);
    scan.finish();
  }
  return found;
}

std::vector<std::vector<std::int64_t>> best_by_estimate(const Snapshot& snapshot, const float* queries,
                                                        std::size_t count, const search::Bitmask& allow,
                                                        const LookupView& codes, std::size_t candidates, Stop& stop) {
  const FloatState state;
  AlignedBuffer<float> prepared(count * snapshot.dim);
  prepare(snapshot.metric, snapshot.dim, queries, 0, count, prepared.data(), "queries");
  std::vector<std::vector<std::int64_t>> found;
  for (std::size_t q = 0; q < count; ++q) {
    const Tile tile{snapshot,   kernels::active(),
                    allow,      prepared.data() + q * snapshot.dim,
                    1,          0,
                    candidates, -std::numeric_limits<float>::infinity(),
                    false,      stop};
    std::vector<std::int64_t>& rows = found.emplace_back();
    Estimated estimated = estimate(tile, codes, candidates, 1);
    for (const Hit& hit : estimated.tops[0].sorted()) rows.push_back(hit.row);
  }
  return found;
}

}  // namespace evidex::index
