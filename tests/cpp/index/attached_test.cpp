// SPDX-License-Identifier: Apache-2.0
// A store that was given its rows in segments answers as one that was given them by add: ids, groups, score bits.
//
// P9. Seen red with numbers that no row has left alive, after a segment or after a chunk that was not full; with codes
// taken that were made against another reference; with a chunk whose unused room went on counting as rows.
#include <string>
#include <vector>

#include "base/error.hpp"
#include "check.hpp"
#include "index/attaching.hpp"

namespace {

using namespace evidex;
using check::Random;
using check::Rows;
using check::Twins;
using codecs::Codec;
using index::Storage;
using kernels::kMetrics;

constexpr Codec kCodecs[] = {Codec::float32, Codec::float16, Codec::int8};
constexpr std::size_t kDim = 37;

/// Each range of ids is used once.
std::int64_t fresh_ids() {
  static std::int64_t used = 0;
  return ++used * 1000000;
}

}  // namespace

TEST(segments_of_any_sizes_answer_as_rows_that_were_added) {
  Random random(check::seed(), "sizes");
  std::size_t coded = 0;
  for (std::size_t round = 0; round < check::times(1, 20); ++round) {
    for (const kernels::Metric& metric : kMetrics) {
      for (const Codec codec : kCodecs) {
        for (const bool prescan : {true, false}) {
          const Storage storage{codec, prescan};
          Twins twins(random.one_in(4) ? 1 + random.below(40) : kDim, metric, storage);
          const std::size_t dim = twins.plain.snapshot()->dim;
          for (std::size_t i = 1 + random.below(9); i > 0; --i) {
            twins.attach(check::grouped_rows(check::segment_size(random), dim, fresh_ids(), random), storage);
          }
          twins.attach(check::grouped_rows(3000, dim, fresh_ids(), random), storage);
          coded += twins.compare(8, random);
        }
      }
    }
  }
  CHECK(coded >= 5);
}

TEST(rows_are_added_before_between_and_after_segments) {
  Random random(check::seed(), "between");
  std::size_t coded = 0;
  for (const Codec codec : kCodecs) {
    const kernels::Metric& metric = kMetrics[random.below(kMetrics.size())];
    Twins twins(kDim, metric, {codec, true});
    for (std::size_t i = 0; i < 14; ++i) {
      const Rows rows = check::grouped_rows(check::segment_size(random), kDim, fresh_ids(), random);
      if (random.one_in(2)) {
        twins.add(rows);
      } else {
        twins.attach(rows, {codec, random.one_in(2) || codec == Codec::int8});
      }
      coded += twins.compare(2, random);
    }
    // Replacing and removing by id reach attached rows too.
    Rows again = check::grouped_rows(500, kDim, fresh_ids(), random);
    const std::vector<std::int64_t> ids = twins.plain.snapshot()->permitted_ids(twins.plain.snapshot()->live());
    for (std::size_t i = 0; i < 100; ++i) again.ids[i] = ids[i * ids.size() / 100];
    std::vector<std::int64_t> gone;
    for (std::size_t i = 0; i < 200; ++i) gone.push_back(again.ids[2 * i]);
    Stop stop;
    for (index::RowStore* store : {&twins.attached, &twins.plain}) {
      store->upsert(again.batch(), stop);
      store->remove(gone);
    }
    coded += twins.compare(5, random);
  }
  CHECK(coded >= 5);
}

TEST(a_new_layout_of_attached_rows_answers_alike) {
  Random random(check::seed(), "layout");
  for (const Codec codec : kCodecs) {
    Twins twins(kDim, kMetrics[0], {codec, true});
    Stop stop;
    twins.add(check::grouped_rows(100, kDim, fresh_ids(), random));
    for (const std::size_t n : {700U, 3000U, 1024U, 5U}) {
      twins.attach(check::grouped_rows(n, kDim, fresh_ids(), random), {codec, true});
    }
    const std::vector<std::uint32_t> ranks = {4, 2, 0, 1, 3};
    twins.attached.optimize(ranks, stop);
    twins.plain.optimize(ranks, stop);
    const auto snapshot = twins.attached.snapshot();
    CHECK_EQ(snapshot->rows, 4829U);
    CHECK_EQ(snapshot->dead_rows, 0U);
    CHECK(twins.compare(8, random) > 0);
    // Row numbers are new, ids and rules are not.
    std::vector<std::int64_t> ids(snapshot->rows);
    std::vector<std::int64_t> rows(snapshot->rows);
    for (std::size_t row = 0; row < snapshot->rows; ++row) {
      ids[row] = snapshot->id(row);
      rows[row] = static_cast<std::int64_t>(row);
    }
    CHECK(twins.attached.find(ids).rows == rows);
    CHECK(twins.attached.rows_in(*snapshot, ids) == rows);
    CHECK(check::granted_ids(*snapshot, {0, 1, 0, 1}) == check::granted_ids(*twins.plain.snapshot(), {0, 1, 0, 1}));
    twins.attach(check::grouped_rows(1500, kDim, fresh_ids(), random), {codec, true});
    twins.add(check::grouped_rows(10, kDim, fresh_ids(), random));
    twins.compare(4, random);
  }
}

TEST(numbers_that_no_row_has_are_never_live_counted_or_granted) {
  Random random(check::seed(), "gaps");
  for (const std::size_t own : {0U, 100U, 1024U}) {
    index::RowStore store(kDim, kMetrics[0], {Codec::float32, false});
    Stop stop;
    std::vector<bool> there;
    const auto count = [&](std::size_t first, std::size_t n) {
      there.resize(first + n);
      std::fill_n(there.begin() + static_cast<std::ptrdiff_t>(first), n, true);
    };
    if (own > 0) {
      store.add(check::grouped_rows(own, kDim, fresh_ids(), random).batch(), stop);
      count(0, own);
    }
    for (const std::size_t n : {1U, 63U, 64U, 65U, 1023U, 1024U, 1025U, 5000U, 3U}) {
      const Rows rows = check::grouped_rows(n, kDim, fresh_ids(), random);
      const auto snapshot = store.snapshot();
      const std::size_t first = check::attach(store, check::encoded(*snapshot, rows), rows);
      CHECK_EQ(first % 1024, 0U);
      CHECK(first >= snapshot->rows && first < snapshot->rows + 1024);
      count(first, n);
    }
    const auto before = store.snapshot()->rows;
    store.add(check::grouped_rows(2000, kDim, fresh_ids(), random).batch(), stop);
    count(store.snapshot()->rows - 2000, 2000);
    CHECK(store.snapshot()->rows > before + 2000);
    const auto snapshot = store.snapshot();
    CHECK_EQ(snapshot->rows, there.size());
    const std::size_t rows = static_cast<std::size_t>(std::count(there.begin(), there.end(), true));
    const search::Bitmask live = snapshot->live();
    const search::Bitmask granted = snapshot->grant(std::vector<std::uint8_t>{1, 1, 1, 1, 1});
    for (std::size_t row = 0; row < there.size(); ++row) {
      const check::Note note("row ", row, ", ", own, " added first");
      CHECK_EQ(live.test(row), static_cast<bool>(there[row]));
      CHECK_EQ(granted.test(row), static_cast<bool>(there[row]));
      CHECK_EQ(snapshot->is_dead(row), !there[row]);
      CHECK_EQ(snapshot->has(row), static_cast<bool>(there[row]));
    }
    CHECK(!snapshot->has(there.size()));
    CHECK_EQ(snapshot->live_rows(), rows);
    CHECK_EQ(live.count(), rows);
    CHECK_EQ(granted.count(), rows);
    CHECK_EQ(snapshot->count_permitted(search::Bitmask::ones(there.size() + 4000)), rows);
    CHECK_EQ(snapshot->permitted_ids(search::Bitmask::ones(there.size())).size(), rows);
  }
}

TEST(a_pinned_snapshot_stays_as_it_was) {
  Random random(check::seed(), "pinned");
  Twins twins(kDim, kMetrics[2], {Codec::float32, true});
  Twins kept(kDim, kMetrics[2], {Codec::float32, true});
  Stop stop;
  for (const std::size_t n : {30U, 2500U}) {
    const Rows rows = check::grouped_rows(n, kDim, fresh_ids(), random);
    twins.add(rows);
    kept.add(rows);
  }
  const Rows segment = check::grouped_rows(1500, kDim, fresh_ids(), random);
  const std::size_t first = twins.attach(segment, {});
  kept.attach(segment, {});
  const auto pinned = twins.attached.snapshot();
  const std::vector<index::Range> ranges = {{0, 20}, {first + 100, 1000}};
  twins.attached.mark(ranges, true);
  const auto marked = twins.attached.snapshot();
  CHECK_EQ(marked->live_rows(), pinned->live_rows() - 1020);
  CHECK_EQ(marked->generation, pinned->generation + 1);
  CHECK_EQ(marked->layout, pinned->layout);
  twins.attach(check::grouped_rows(3000, kDim, fresh_ids(), random), {});
  twins.add(check::grouped_rows(3000, kDim, fresh_ids(), random));
  CHECK(check::require_alike(*pinned, *kept.plain.snapshot(), 20, random) > 0);
  kept.attached.mark(ranges, true);
  CHECK(check::require_alike(*marked, *kept.attached.snapshot(), 20, random) > 0);
}
