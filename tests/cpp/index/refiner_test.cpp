// SPDX-License-Identifier: Apache-2.0
// The stages of pass 2 leave out rows whose bound is below the threshold, and no others: an equal one stays. Bounds
// lie a little above scores, so no search shows it.
//
// P7, P4. Seen red with a threshold just above in LeftOver, places that do not count handed on, facts of a neighbour,
// the last waiting rows forgotten, or those of the batch before.
#include "index/refiner.hpp"

#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "base/bits.hpp"
#include "check.hpp"
#include "index/model.hpp"
#include "index/row_store.hpp"
#include "kernels/tables.hpp"
#include "random.hpp"

namespace {

using namespace evidex;

constexpr std::size_t kDim = 40;
constexpr std::size_t kRows = 2100;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Collects what a stage hands on.
struct Taken {
  std::map<std::size_t, std::uint64_t> words;
  void word(std::size_t index, std::uint64_t bits) {
    CHECK((words[index] & bits) == 0);
    words[index] |= bits;
  }
  bool has(std::size_t row) { return ((words[row / 64] >> (row % 64)) & 1) != 0; }
};

/// Two queries over a store with codes.
struct Place {
  explicit Place(const kernels::Metric& metric) : store(kDim, metric), all(search::Bitmask::ones(kRows)) {
    check::Random random(check::seed(), "refiner");
    store.add(check::random_rows(kRows, kDim, 1000000, random).batch(), stop);
    snapshot = store.snapshot();
    for (std::size_t i = 0; i < 2 * kDim; ++i) queries.push_back(random.real());
  }
  index::Tile tile(const kernels::Table& table) {
    return {*snapshot, table, all, queries.data(), 2, kRows, 10, -kInfinity, false, stop};
  }

  Stop stop;
  index::RowStore store;
  std::shared_ptr<const index::Snapshot> snapshot;
  search::Bitmask all;
  std::vector<float> queries;
};

}  // namespace

TEST(a_bound_equal_to_the_threshold_stays) {
  Place place(kernels::kMetrics[0]);
  for (const kernels::Table* table : check::runnable_tables()) {
    const index::Tile tile = place.tile(*table);
    index::BoundRoom room;
    index::Bounds bounds(tile, 1, room);
    const std::uint64_t permitted = 0xFFFF0FFFFFFFF0F3;
    bounds.batch(bounds.take()) = {~permitted, 3};
    bounds.batch(bounds.take()) = {permitted, 7};
    bounds.batch(bounds.take()) = {permitted, index::BoundBatch::kScattered};
    constexpr float kThreshold = 0.75F;
    const float around[] = {kThreshold, std::nextafter(kThreshold, 0.0F), std::nextafter(kThreshold, 1.0F), kInfinity,
                            -kInfinity};
    for (std::size_t i = 0; i < 64; ++i) {
      bounds.uppers(1, 0)[i] = -kInfinity;
      bounds.uppers(1, 1)[i] = around[i % 5];
      bounds.uppers(1, 2)[i] = around[(i + 1) % 5];
      bounds.rows(2)[i] = static_cast<std::uint32_t>(1000 + 7 * i);  // nine or ten to a word
    }
    Taken taken;
    index::LeftOver<Taken>(tile, bounds, 1, kThreshold, taken).read(0, 3);
    std::size_t left_over = 0;
    for (std::size_t i = 0; i < 64; ++i) {
      const bool counts = ((permitted >> i) & 1) != 0;
      const auto stays = [](std::size_t at) { return at % 5 == 0 || at % 5 == 2 || at % 5 == 3; };
      CHECK_EQ(taken.has(7 * 64 + i), counts && stays(i));
      CHECK_EQ(taken.has(1000 + 7 * i), counts && stays(i + 1));
      left_over += static_cast<std::size_t>(counts && stays(i)) + static_cast<std::size_t>(counts && stays(i + 1));
    }
    for (const auto& [word, bits] : taken.words) left_over -= count_bits(bits);
    CHECK_EQ(left_over, 0U);
    Taken nothing;
    index::LeftOver<Taken>(tile, bounds, 1, kThreshold, nothing).read(0, 1);  // all below
    CHECK(nothing.words.empty());
  }
}

TEST(both_planes_decide_and_an_equal_bound_stays) {
  for (const kernels::Metric& metric : kernels::kMetrics) {
    Place place(metric);
    for (const kernels::Table* table : check::runnable_tables()) {
      const check::Note note(table->isa, " ", metric.name);
      const index::Tile tile = place.tile(*table);
      index::BoundRoom room;
      index::Bounds bounds(tile, 1, room);
      // Estimating with both planes writes the same bounds where they can be read.
      std::vector<search::TopK> seeds(2, search::TopK(1));
      index::Estimator estimator(tile, bounds, index::Level::both, seeds);
      tile.for_each_word(0, tile.snapshot.words(), estimator);
      estimator.finish();
      std::vector<float> uppers(kRows);
      for (std::size_t b = 0; b < bounds.taken(); ++b) {  // all rows are permitted: no batch is scattered
        for (std::size_t i = 0; i < 64 && bounds.batch(b).word * 64 + i < kRows; ++i) {
          uppers[bounds.batch(b).word * 64 + i] = bounds.uppers(1, b)[i];
        }
      }
      for (const std::size_t row : {0U, 63U, 64U, 1023U, 1024U, 2099U}) {
        const float upper = uppers[row];
        for (const float threshold : {upper, std::nextafter(upper, kInfinity)}) {
          Taken taken;
          index::Refiner<Taken> refiner(tile, bounds, 1, threshold, taken);
          tile.for_each_word(0, tile.snapshot.words(), refiner);
          refiner.finish();
          CHECK_EQ(taken.has(row), threshold == upper);
          for (std::size_t r = 0; r < kRows; ++r) {
            CHECK_EQ(taken.has(r), uppers[r] >= threshold);
          }
        }
      }
    }
  }
}
