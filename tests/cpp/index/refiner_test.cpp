// SPDX-License-Identifier: Apache-2.0
// The stages of pass 2 leave out rows whose bound is below the threshold, and no others: an equal one stays. Bounds
// lie a little above scores, so no search shows it.
//
// P7, P4. Seen red with a threshold just above in LeftOver, facts of a neighbour, the last waiting rows forgotten.
#include "index/refiner.hpp"

#include <cmath>
#include <limits>
#include <map>
#include <vector>

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
    AlignedBuffer<float> room(0);
    index::Bounds bounds(tile, room);
    constexpr float kThreshold = 0.75F;
    const float around[] = {kThreshold, std::nextafter(kThreshold, 0.0F), std::nextafter(kThreshold, 1.0F), kInfinity,
                            -kInfinity};
    for (std::size_t i = 0; i < 64; ++i) bounds.upper(1, 7)[i] = around[i % 5];
    const std::uint64_t permitted = 0xFFFF0FFFFFFFF0F3;
    Taken taken;
    index::LeftOver<Taken> left_over(tile, bounds, 1, kThreshold, taken);
    left_over.word(7, permitted);
    for (std::size_t i = 0; i < 64; ++i) {
      const bool stays = i % 5 == 0 || i % 5 == 2 || i % 5 == 3;
      CHECK_EQ(taken.has(7 * 64 + i), ((permitted >> i) & 1) != 0 && stays);
    }
    index::LeftOver<Taken> nothing(tile, bounds, 1, kThreshold, taken);
    nothing.word(7, 2);  // a row that is below
    CHECK_EQ(taken.words.size(), 1U);
  }
}

TEST(both_planes_decide_and_an_equal_bound_stays) {
  for (const kernels::Metric& metric : kernels::kMetrics) {
    Place place(metric);
    for (const kernels::Table* table : check::runnable_tables()) {
      const check::Note note(table->isa, " ", metric.name);
      const index::Tile tile = place.tile(*table);
      AlignedBuffer<float> room(0);
      index::Bounds bounds(tile, room);
      // Estimating with both planes writes the same bounds where they can be read.
      std::vector<search::TopK> seeds(2, search::TopK(1));
      index::Estimator estimator(tile, bounds, index::Level::both, seeds);
      tile.for_each_word(0, bounds.words, estimator);
      estimator.finish();
      for (const std::size_t row : {0U, 63U, 64U, 1023U, 1024U, 2099U}) {
        const float upper = bounds.upper(1, row / 64)[row % 64];
        for (const float threshold : {upper, std::nextafter(upper, kInfinity)}) {
          Taken taken;
          index::Refiner<Taken> refiner(tile, bounds, 1, threshold, taken);
          tile.for_each_word(0, bounds.words, refiner);
          refiner.finish();
          CHECK_EQ(taken.has(row), threshold == upper);
          for (std::size_t r = 0; r < kRows; ++r) {
            CHECK_EQ(taken.has(r), bounds.upper(1, r / 64)[r % 64] >= threshold);
          }
        }
      }
    }
  }
}
