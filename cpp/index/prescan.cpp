// SPDX-License-Identifier: Apache-2.0
#include "index/prescan.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "index/estimator.hpp"
#include "index/refiner.hpp"

namespace evidex::index {
namespace {

using search::Hit;
using search::TopK;

constexpr float kNone = -std::numeric_limits<float>::infinity();

// Measured (benchmarks/NOTES.md): with fewer rows than these, scoring them all costs less.
constexpr std::size_t kLeastPermitted = 2048;
constexpr std::size_t kLeastPerHit = 16;
// More queries per tile no longer save loads; their bounds would only leave the cache.
constexpr std::size_t kMostQueries = 16;
constexpr std::size_t kMostBoundBytes = std::size_t{32} << 20;
// A look at the first permitted rows tells whether the codes prune: this share of them, but at least so many.
constexpr std::size_t kSampleShare = 16;
constexpr std::size_t kLeastSample = 2048;
// With more of the rows left over than this, codes save nothing.
constexpr double kMostLeftOver = 0.5;

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

struct Counter {
  const Tile& tile;
  Bounds& bounds;
  std::size_t query;
  float threshold;
  std::size_t seen = 0;
  std::size_t left_over = 0;

  void word(std::size_t index, std::uint64_t bits) {
    seen += static_cast<std::size_t>(std::popcount(bits));
    const std::uint64_t stays = tile.table.reach(bounds.upper(query, index), threshold) & bits;
    left_over += static_cast<std::size_t>(std::popcount(stays));
  }
};

std::size_t wanted_sample(const Tile& tile) { return std::max(tile.permitted / kSampleShare, kLeastSample); }

/// The first mask words that hold the sample; one past the last.
std::size_t sample_end(const Tile& tile) {
  const std::size_t wanted = wanted_sample(tile);
  constexpr std::size_t kStep = 16;
  std::size_t end = 0;
  for (std::size_t seen = 0; seen < wanted && end < tile.snapshot.words();) {
    const std::size_t begin = end;
    end = std::min(begin + kStep, tile.snapshot.words());
    tile.snapshot.for_each_permitted(tile.allow, begin, end, [&](std::size_t, std::uint64_t bits) {
      seen += static_cast<std::size_t>(std::popcount(bits));
    });
  }
  return end;
}

/// Judged by the sample's own best rows: as many as its share of the k.
bool tells_too_little(const Tile& tile, Bounds& bounds, std::size_t end, const std::vector<TopK>& seeds) {
  std::size_t seen = 0;
  std::size_t left_over = 0;
  for (std::size_t q = 0; q < tile.count; ++q) {
    float threshold = tile.min_score;
    if (threshold == kNone) {
      TopK few(std::max<std::size_t>(1, tile.keep / (tile.permitted / wanted_sample(tile))), kNone, tile.grouped);
      few.merge(seeds[q]);
      threshold = kth_score(tile, q, few);
    }
    Counter counter{tile, bounds, q, usable_threshold(tile, threshold)};
    tile.for_each_word(0, end, counter);
    seen += counter.seen;
    left_over += counter.left_over;
  }
  return static_cast<double>(left_over) > kMostLeftOver * static_cast<double>(seen);
}

}  // namespace

bool prescan_pays(std::size_t permitted, std::size_t returned, bool has_min_score) {
  return permitted >= kLeastPermitted && (has_min_score || permitted / kLeastPerHit >= returned);
}

std::size_t prescan_queries(const Snapshot& snapshot) {
  const std::size_t bytes_per_query = snapshot.words() * RangeScan::kRows * sizeof(float);
  return std::clamp<std::size_t>(kMostBoundBytes / bytes_per_query, 1, kMostQueries);
}

std::optional<std::vector<TopK>> prescan(const Tile& tile, unsigned workers, AlignedBuffer<float>& room) {
  Bounds bounds(tile, room);
  const std::size_t words = bounds.words;
  // With a least score given, the threshold is known and nothing needs to be found out.
  const bool seeded = tile.min_score == kNone;
  const auto fresh_seeds = [&] {
    return std::vector<TopK>(tile.count, TopK(seeded ? tile.keep : 0, kNone, tile.grouped));
  };
  const auto estimate = [&](Ranges& ranges, std::span<TopK> seeds) {
    Estimator estimator(tile, bounds, seeds);
    ranges.drain([&](std::size_t begin, std::size_t end) { tile.for_each_word(begin, end, estimator); });
    estimator.finish();
  };
  const std::size_t sample = sample_end(tile);
  std::vector<TopK> seeds = select_from(0, sample, 1, fresh_seeds, estimate);
  if (tells_too_little(tile, bounds, sample, seeds)) return std::nullopt;
  const std::vector<TopK> others = select_from(sample, words, workers, fresh_seeds, estimate);

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
  return select_from(0, words, workers, fresh, [&](Ranges& ranges, std::span<TopK> tops) {
    ranges.drain([&](std::size_t begin, std::size_t end) {
      for (std::size_t q = 0; q < tile.count; ++q) {
        Refiner refiner(tile, bounds, q, thresholds[q], tops[q]);
        tile.for_each_word(begin, end, refiner);
        refiner.finish();
      }
    });
  });
}

}  // namespace evidex::index
