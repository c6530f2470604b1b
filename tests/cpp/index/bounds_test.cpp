// SPDX-License-Identifier: Apache-2.0
// Batches of bounds: every permitted row has one place, whoever filled it, and there are never more batches than were
// reckoned with. Bounds are the same wherever their rows lie.
//
// P7, P5. Seen red with: the last batch or the one before it not scored, one row number not written, two batches in one
// place, no room for batches that are not full.
#include "index/bounds.hpp"

#include <cmath>
#include <map>
#include <vector>

#include "check.hpp"
#include "index/estimator.hpp"
#include "index/model.hpp"
#include "index/row_store.hpp"
#include "kernels/tables.hpp"
#include "random.hpp"

namespace {

using namespace evidex;
using check::Random;

constexpr std::size_t kDim = 40;
constexpr std::size_t kRows = 4000;
constexpr float kNone = -std::numeric_limits<float>::infinity();

struct Place {
  Place() : store(kDim, kernels::kMetrics[0]) {
    Random random(check::seed(), "batches");
    store.add(check::random_rows(kRows, kDim, 1000000, random).batch(), stop);
    snapshot = store.snapshot();
    for (std::size_t i = 0; i < 8 * kDim; ++i) queries.push_back(random.real());
  }
  index::Tile tile(const search::Bitmask& mask, std::size_t count, const kernels::Table& table) {
    return {*snapshot, table, mask, queries.data(), count, snapshot->count_permitted(mask), 10, kNone, false, stop};
  }

  Stop stop;
  index::RowStore store;
  std::shared_ptr<const index::Snapshot> snapshot;
  std::vector<float> queries;
};

/// So many rows of every word, given its number.
template <class Many>
search::Bitmask mask_of(Many many, Random& random) {
  std::vector<std::int64_t> numbers;
  for (std::size_t word = 0; word < kRows / 64; ++word) {
    std::vector<std::int64_t> rows;
    for (std::size_t i = 0; i < 64; ++i) rows.push_back(static_cast<std::int64_t>(word * 64 + i));
    random.shuffle(rows);
    numbers.insert(numbers.end(), rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(many(word)));
  }
  return search::Bitmask::from_rows(kRows, numbers);
}

/// Estimates by so many estimators that take words in turn, and returns each row's bounds.
std::map<std::size_t, std::vector<float>> estimate(const index::Tile& tile, std::size_t estimators) {
  index::BoundRoom room;
  index::Bounds bounds(tile, estimators, room);
  std::vector<search::TopK> seeds = tile.selections();
  for (std::size_t e = 0; e < estimators; ++e) {
    index::Estimator estimator(tile, bounds, index::Level::high, seeds);
    for (std::size_t i = e; i < tile.snapshot.words(); i += estimators) tile.for_each_word(i, i + 1, estimator);
    estimator.finish();
  }
  CHECK(bounds.taken() <=
        index::Bounds::most(tile.snapshot.words(), tile.permitted, index::Dense::of(tile.count), estimators));
  std::map<std::size_t, std::vector<float>> found;
  for (std::size_t b = 0; b < bounds.taken(); ++b) {
    const index::BoundBatch& batch = bounds.batch(b);
    for (std::size_t i = 0; i < 64; ++i) {
      if (((batch.bits >> i) & 1) == 0) continue;
      const std::size_t row = batch.word == index::BoundBatch::kScattered ? bounds.rows(b)[i] : batch.word * 64 + i;
      CHECK(found[row].empty());
      for (std::size_t q = 0; q < tile.count; ++q) found[row].push_back(bounds.uppers(q, b)[i]);
    }
  }
  return found;
}

}  // namespace

TEST(every_permitted_row_has_one_place_and_the_same_bounds) {
  Place place;
  Random random(check::seed(), "places");
  const search::Bitmask all = search::Bitmask::ones(kRows);
  for (const kernels::Table* table : check::runnable_tables()) {
    for (const std::size_t count : {1U, 3U, 8U}) {
      const auto expected = estimate(place.tile(all, count, *table), 1);
      CHECK_EQ(expected.size(), kRows);
      const auto [dense, after] = index::Dense::of(count);
      const search::Bitmask masks[] = {
          all,
          mask_of([&](std::size_t) { return dense; }, random),
          mask_of([&](std::size_t) { return dense - 1; }, random),
          mask_of([&](std::size_t word) { return word % 2 == 0 ? dense : dense - 1; }, random),
          mask_of([&](std::size_t word) { return word == 0 ? dense : after; }, random),
          mask_of([&](std::size_t word) { return word % 3 == 0 ? dense : after - word % 3 + 1; }, random),
          mask_of([&](std::size_t word) { return word < 20 ? 64U : random.below(9); }, random),
          mask_of([&](std::size_t word) { return word == 5 ? 1U : 0U; }, random),
          mask_of([&](std::size_t) { return 0U; }, random),
      };
      for (const search::Bitmask& mask : masks) {
        for (const std::size_t estimators : {1U, 2U, 5U}) {
          const check::Note note(table->isa, ", ", count, " queries, ", mask.count(), " rows, ", estimators);
          const auto found = estimate(place.tile(mask, count, *table), estimators);
          CHECK_EQ(found.size(), mask.count());
          for (const auto& [row, uppers] : found) {
            CHECK(mask.test(row));
            for (std::size_t q = 0; q < count; ++q) CHECK_BITS(uppers[q], expected.at(row)[q]);
          }
        }
      }
    }
  }
}

TEST(no_mask_needs_more_batches_than_reckoned) {
  // Every number of blocks, and every number of rows that they and the rest can share.
  for (const auto& [alone, after] : {index::Dense{1, 1}, {2, 1}, {24, 8}, {48, 48}, {64, 8}, {64, 64}}) {
    for (const std::size_t words : {0U, 1U, 2U, 3U, 7U}) {
      for (std::size_t blocks = 0; blocks <= words; ++blocks) {
        const std::size_t fits = (words - blocks) * (alone - 1);  // rows in words that are not dense
        for (std::size_t permitted = blocks * after; permitted <= blocks * 64 + fits; ++permitted) {
          const std::size_t scattered = std::min(permitted - blocks * after, fits);
          for (const std::size_t estimators : {1U, 2U, 3U}) {
            // Each estimator leaves one batch that is not full, of a single row.
            const std::size_t partial = std::min(scattered, estimators);
            const std::size_t batches = blocks + (scattered - partial) / 64 + partial;
            CHECK(batches <= index::Bounds::most(words, permitted, {alone, after}, estimators));
          }
        }
      }
    }
  }
  // A batch for each word where all rows are permitted.
  CHECK_EQ(index::Bounds::most(15625, 1000000, index::Dense::of(1), 2), 15627U);
}
