// SPDX-License-Identifier: Apache-2.0
#include "index/prescan.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/bits.hpp"
#include "index/code_writer.hpp"
#include "index/estimator.hpp"
#include "index/refiner.hpp"

namespace evidex::index {
namespace {

using search::Hit;
using search::TopK;

constexpr float kNone = -std::numeric_limits<float>::infinity();

// Measured (benchmarks/NOTES.md): with fewer rows per hit, scoring them all costs less.
constexpr std::size_t kLeastPerHit = 16;
// More queries per tile no longer save loads; their bounds would only leave the cache.
constexpr std::size_t kMostQueries = 16;
constexpr std::size_t kMostBoundBytes = std::size_t{32} << 20;
// A look at the first permitted rows tells whether the codes prune: this share of them, and none at all where that
// would be fewer than the least.
constexpr std::size_t kSampleShare = 16;
constexpr std::size_t kLeastSample = 1024;
// What it costs, as a share of scoring all rows, to read both planes of all codes at once, to do so where the high
// planes leave over all rows, and to score all that both planes leave over; and what that may cost together. Queries
// of a tile share the rows of a plain scan, but not what each has left over.
constexpr double kBothAtOnce = 0.15;
constexpr double kBothLater = 0.35;
constexpr double kScoring = 1.1;
constexpr double kMostCost = 0.7;
constexpr std::size_t kMostSharing = 8;
// So many of a query's rows are enough to tell how the second level does.
constexpr std::size_t kEnoughRows = 512;

/// The least score among the k best rows by estimate, or groups where the tile is grouped: at least k reach it.
/// None where there are fewer than k.
float kth_score(const Tile& tile, std::size_t query, TopK& seeds) {
  const std::vector<Hit>& rows = seeds.best();
  if (rows.empty() || rows.size() < seeds.k()) return kNone;
  TopK scored(rows.size());
  RangeScan scan(tile.snapshot, tile.table, tile.query(query).data(), {&scored, 1});
  for (const Hit& hit : rows) {
    const auto row = static_cast<std::size_t>(hit.id);
    scan.word(row / RangeScan::kRows, std::uint64_t{1} << (row % RangeScan::kRows));
  }
  scan.finish();
  (void)scored.best();
  return scored.threshold();
}

/// No score is below the metric's least, and bounds do not know of the clamp there.
float usable_threshold(const Tile& tile, float threshold) {
  return threshold > tile.snapshot.metric.least_score ? threshold : kNone;
}

struct Count {
  std::size_t rows = 0;
  void word(std::size_t, std::uint64_t bits) { rows += count_bits(bits); }
};

/// Counts rows that another one takes.
struct Counted {
  std::size_t& rows;
  Estimator& estimator;
  void word(std::size_t index, std::uint64_t bits) {
    rows += count_bits(bits);
    estimator.word(index, bits);
  }
};

/// Shares of the rows that each level leaves over.
struct Shares {
  double first = 0;
  double second = 0;
};

/// The same for the sample, one query.
class Counter {
 public:
  Counter(const Tile& tile, Bounds& bounds, std::size_t query, float threshold)
      : first_(tile, bounds, query, threshold, *this), refiner_(tile, bounds, query, threshold, second_) {}

  /// Of batches [0, end), which hold so many rows.
  Shares sample(std::size_t end, std::size_t rows) {
    first_.read(0, end);
    refiner_.finish();
    if (tried_ == 0) return {};
    const double first = static_cast<double>(left_over_) / static_cast<double>(rows);
    return {first, first * static_cast<double>(second_.rows) / static_cast<double>(tried_)};
  }
  /// What the first level left over.
  void word(std::size_t index, std::uint64_t bits) {
    left_over_ += count_bits(bits);
    if (tried_ >= kEnoughRows) return;
    tried_ += count_bits(bits);
    refiner_.word(index, bits);
  }

 private:
  std::size_t left_over_ = 0;
  std::size_t tried_ = 0;
  Count second_;
  LeftOver<Counter> first_;
  Refiner<Count> refiner_;
};

/// The first permitted rows.
struct Sample {
  std::size_t rows = 0;
  std::size_t words = 0;  ///< the first mask words, which hold them
};

/// Estimates them.
Sample take_sample(const Tile& tile, Bounds& bounds, std::vector<TopK>& seeds) {
  const std::size_t wanted = tile.permitted / kSampleShare;
  if (wanted < kLeastSample) return {};
  constexpr std::size_t kStep = 16;
  Sample sample;
  Estimator estimator(tile, bounds, Level::high, seeds);
  Pace pace(tile.stop);
  while (sample.rows < wanted && sample.words < tile.snapshot.words()) {
    const std::size_t begin = sample.words;
    sample.words = std::min(begin + kStep, tile.snapshot.words());
    Counted counted{sample.rows, estimator};
    tile.for_each_word(begin, sample.words, counted, pace);
  }
  estimator.finish();
  return sample;
}

/// Judged by the sample's own best rows, as many as its share of the k: the level to read, or none of them.
std::optional<Level> worthwhile(const Tile& tile, Bounds& bounds, const Sample& sample,
                                const std::vector<TopK>& seeds) {
  if (sample.rows == 0) return Level::high;
  const std::size_t batches = bounds.taken();
  Shares mean;
  for (std::size_t q = 0; q < tile.count; ++q) {
    float threshold = tile.min_score;
    if (threshold == kNone) {
      TopK few(std::max<std::size_t>(1, tile.keep / kSampleShare), kNone, tile.grouped);
      few.merge(seeds[q]);
      threshold = kth_score(tile, q, few);
    }
    Counter counter(tile, bounds, q, usable_threshold(tile, threshold));
    const Shares shares = counter.sample(batches, sample.rows);
    mean.first += shares.first / static_cast<double>(tile.count);
    mean.second += shares.second / static_cast<double>(tile.count);
  }
  const double later = kBothLater * mean.first;
  const double cost = std::min(later, kBothAtOnce) + kScoring * mean.second;
  if (cost * static_cast<double>(std::min(tile.count, kMostSharing)) > kMostCost) return std::nullopt;
  return later < kBothAtOnce ? Level::high : Level::both;
}

}  // namespace

bool prescan_pays(std::size_t dim, std::size_t permitted, std::size_t returned, bool has_min_score) {
  return permitted >= least_coded_rows(dim) && (has_min_score || permitted / kLeastPerHit >= returned);
}

std::size_t prescan_queries(const Snapshot& snapshot, std::size_t permitted) {
  const std::size_t batches = Bounds::most(snapshot.words(), permitted, Dense::of(kMostQueries), 1);
  const std::size_t bytes_per_query = batches * Bounds::kRows * sizeof(float);
  return std::clamp<std::size_t>(kMostBoundBytes / bytes_per_query, 1, kMostQueries);
}

std::optional<std::vector<TopK>> prescan(const Tile& tile, unsigned workers, BoundRoom& room) {
  Bounds bounds(tile, workers + 1, room);  // one more for the sample
  // With a least score given, the threshold is known and nothing needs to be found out.
  const bool seeded = tile.min_score == kNone;
  const auto fresh_seeds = [&] {
    return std::vector<TopK>(tile.count, TopK(seeded ? tile.keep : 0, kNone, tile.grouped));
  };
  Level level = Level::high;
  const auto estimate = [&](Ranges& ranges, std::span<TopK> seeds) {
    Estimator estimator(tile, bounds, level, seeds);
    ranges.drain([&](std::size_t begin, std::size_t end) { tile.for_each_word(begin, end, estimator); });
    estimator.finish();
  };
  std::vector<TopK> seeds = fresh_seeds();
  Sample sample = take_sample(tile, bounds, seeds);
  const std::optional<Level> chosen = worthwhile(tile, bounds, sample, seeds);
  if (!chosen) return std::nullopt;
  level = *chosen;
  if (level == Level::both) {  // bounds of one level throughout: the sample is estimated again
    sample = {};
    bounds.clear();
    seeds = fresh_seeds();
  }
  const std::vector<TopK> others = select_from(sample.words, tile.snapshot.words(), workers, fresh_seeds, estimate);

  std::vector<float> thresholds(tile.count, tile.min_score);
  for (std::size_t q = 0; q < tile.count; ++q) {
    seeds[q].merge(others[q]);
    if (seeded) thresholds[q] = kth_score(tile, q, seeds[q]);
    thresholds[q] = usable_threshold(tile, thresholds[q]);
  }
  const auto fresh = [&] {
    std::vector<TopK> tops;
    tops.reserve(tile.count);
    for (const float threshold : thresholds) {
      tops.emplace_back(tile.keep, std::max(threshold, tile.min_score), tile.grouped);
    }
    return tops;
  };
  return select_from(0, bounds.taken(), workers, fresh, [&](Ranges& ranges, std::span<TopK> tops) {
    ranges.drain([&](std::size_t begin, std::size_t end) {
      for (std::size_t q = 0; q < tile.count; ++q) {
        RangeScan scan(tile.snapshot, tile.table, tile.query(q).data(), {&tops[q], 1});
        if (level == Level::both) {
          LeftOver(tile, bounds, q, thresholds[q], scan).read(begin, end);
        } else {
          Refiner refiner(tile, bounds, q, thresholds[q], scan);
          LeftOver(tile, bounds, q, thresholds[q], refiner).read(begin, end);
          refiner.finish();
        }
        scan.finish();
      }
    });
  });
}

}  // namespace evidex::index
