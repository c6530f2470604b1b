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
#include "search/candidates.hpp"

namespace evidex::index {
namespace {

using search::Candidates;
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

/// Which rows of a mask word have codes.
std::uint64_t coded(const LookupView& codes, std::size_t word) {
  const std::size_t first = word * kernels::kLookupRows;
  if (first + kernels::kLookupRows <= codes.rows) return ~std::uint64_t{0};
  return first < codes.rows ? (std::uint64_t{1} << (codes.rows - first)) - 1 : 0;
}

/// Passes on the rows that have none.
struct Uncoded {
  const LookupView& codes;
  RangeScan& scan;

  void word(std::size_t index, std::uint64_t bits) {
    bits &= ~coded(codes, index);
    if (bits != 0) scan.word(index, bits);
  }
};

/// Estimates the permitted rows of mask words. Where they tie, the row that lies first counts as better.
class LookupScan {
 public:
  LookupScan(const Tile& tile, const LookupView& codes, const Tables& tables, std::span<Candidates> best)
      : table_(tile.table), codes_(codes), tables_(tables), best_(best) {}

  void word(std::size_t index, std::uint64_t bits) {
    bits &= coded(codes_, index);
    const std::uint8_t* block = codes_.codes(index);
    const kernels::LookupFacts* facts = codes_.facts(index);
    for (std::size_t q = 0; q < best_.size(); ++q) {
      table_.lookups.sums(block, tables_.entries.data() + q * tables_.bytes, codes_.model->positions, sums_.data());
      table_.lookups.estimates(tables_.terms[q], sums_.data(), facts, estimates_.data());
      Candidates& best = best_[q];
      std::uint64_t reached = table_.reach(estimates_.data(), best.threshold()) & bits;
      for (; reached != 0; reached &= reached - 1) {
        const auto i = static_cast<std::size_t>(std::countr_zero(reached));
        best.push(estimates_[i], static_cast<std::uint32_t>(index * RangeScan::kRows + i));
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
  std::span<Candidates> best_;
  std::size_t rows_ = 0;
  alignas(64) std::array<std::uint16_t, kernels::kLookupRows> sums_;
  alignas(64) std::array<float, kernels::kLookupRows> estimates_;
};

struct Estimated {
  std::vector<Candidates> best;
  std::size_t rows;
};

Estimated estimate(const Tile& tile, const LookupView& codes, std::size_t candidates, unsigned workers) {
  const Tables tables(tile, *codes.model);
  std::atomic<std::size_t> rows{0};
  std::vector<Candidates> best = select_from(
      0, std::min(codes.words(), tile.snapshot.words()), workers,
      [&] { return std::vector<Candidates>(tile.count, Candidates(candidates)); },
      [&](Ranges& ranges, std::span<Candidates> mine) {
        LookupScan scan(tile, codes, tables, mine);
        ranges.drain([&](std::size_t begin, std::size_t end) { tile.for_each_word(begin, end, scan); });
        rows += scan.rows();
      });
  return {std::move(best), rows};
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
    if (estimated.best[q].size() < std::min(candidates, estimated.rows)) return std::nullopt;
    RangeScan scan(tile.snapshot, tile.table, tile.query(q).data(), {&found[q], 1});
    for (const std::uint32_t row : estimated.best[q].in_sequence()) {
      scan.word(row / RangeScan::kRows, std::uint64_t{1} << (row % RangeScan::kRows));
    }
    tile.for_each_word(codes.rows / kernels::kLookupRows, tile.snapshot.words(), Uncoded{codes, scan});
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
    for (const std::uint32_t row : estimated.best[0].sorted()) rows.push_back(row);
  }
  return found;
}

}  // namespace evidex::index
