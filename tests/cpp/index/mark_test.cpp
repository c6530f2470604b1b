// SPDX-License-Identifier: Apache-2.0
// Rows removed and put back by number, and ids of attached rows, which the store learns when somebody asks.
//
// P9. Seen red with rows marked whose bits were not those of the next snapshot, with numbers that no row has put back
// among the living, with automatic ids that began below those of attached rows, and with rows counted as removed twice
// that were marked first and then removed by id.
#include <map>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "check.hpp"
#include "index/attaching.hpp"

namespace {

using namespace evidex;
using check::Random;
using check::Rows;
using index::IdTable;
using index::Range;
using index::RowStore;
using kernels::kMetrics;

constexpr std::size_t kDim = 2;

std::int64_t fresh_ids() {
  static std::int64_t used = 0;
  return ++used * 1000000;
}

enum class State : std::uint8_t { none, live, dead };

/// A store of attached and added rows, and by row number what there is.
struct Marked {
  explicit Marked(Random& random) : store(kDim, kMetrics[0]) {
    Stop stop;
    for (std::size_t i = 2 + random.below(6); i > 0; --i) {
      const Rows rows = check::grouped_rows(check::segment_size(random), kDim, fresh_ids(), random);
      std::size_t first = 0;
      if (random.one_in(4)) {
        store.add(rows.batch(), stop);
        first = store.snapshot()->rows - rows.ids.size();
        // A batch may lie in several chunks, and fill the last one further.
        CHECK_EQ(store.snapshot()->id(first), rows.ids[0]);
      } else {
        first = check::attach(store, check::encoded(*store.snapshot(), rows), rows);
      }
      states.resize(first, State::none);
      states.resize(first + rows.ids.size(), State::live);
      ids.resize(first, IdTable::kAbsent);
      ids.insert(ids.end(), rows.ids.begin(), rows.ids.end());
    }
  }

  void check_states(const index::Snapshot& snapshot, const std::vector<State>& expected) const {
    CHECK_EQ(snapshot.rows, expected.size());
    std::vector<std::int64_t> live_ids;
    for (std::size_t row = 0; row < expected.size(); ++row) {
      const check::Note note("row ", row, " of ", expected.size());
      CHECK_EQ(snapshot.is_dead(row), expected[row] != State::live);
      if (expected[row] == State::live) live_ids.push_back(ids[row]);
    }
    CHECK_EQ(snapshot.live_rows(), live_ids.size());
    CHECK_EQ(snapshot.live().count(), live_ids.size());
    CHECK(snapshot.permitted_ids(search::Bitmask::ones(snapshot.rows + 100)) == live_ids);
  }

  RowStore store;
  std::vector<State> states;
  std::vector<std::int64_t> ids;
};

}  // namespace

TEST(ranges_are_removed_and_put_back) {
  Random random(check::seed(), "ranges");
  for (std::size_t round = 0; round < check::times(12, 300); ++round) {
    Marked marked(random);
    const std::size_t rows = marked.states.size();
    std::vector<std::pair<std::shared_ptr<const index::Snapshot>, std::vector<State>>> kept;
    for (std::size_t step = 0; step < 12; ++step) {
      kept.emplace_back(marked.store.snapshot(), marked.states);
      const bool dead = !random.one_in(3);
      std::vector<Range> ranges;
      for (std::size_t i = random.below(6); i > 0; --i) {
        // Overlapping, empty and up to the end; across numbers that no row has.
        const std::size_t first = random.below(rows + 1);
        const std::size_t most = random.one_in(3) ? rows - first : std::min<std::size_t>(rows - first, 100);
        ranges.push_back({first, random.below(most + 1)});
      }
      const auto before = marked.store.snapshot();
      marked.store.mark(ranges, dead);
      CHECK_EQ(marked.store.snapshot()->generation, before->generation + 1);
      for (const Range& range : ranges) {
        for (std::size_t row = range.first; row < range.first + range.count; ++row) {
          if (marked.states[row] != State::none) marked.states[row] = dead ? State::dead : State::live;
        }
      }
      marked.check_states(*marked.store.snapshot(), marked.states);
    }
    for (const auto& [snapshot, states] : kept) marked.check_states(*snapshot, states);
    // All of them and none of them.
    const std::vector<Range> all = {{0, rows}};
    marked.store.mark(all, true);
    CHECK_EQ(marked.store.snapshot()->live_rows(), 0U);
    marked.store.mark(all, false);
    for (State& state : marked.states) state = state == State::none ? State::none : State::live;
    marked.check_states(*marked.store.snapshot(), marked.states);
  }
}

TEST(rows_beyond_the_last_are_refused) {
  Random random(check::seed(), "beyond");
  Marked marked(random);
  const std::size_t rows = marked.states.size();
  const auto before = marked.store.snapshot();
  constexpr std::size_t kMost = ~std::size_t{0};
  for (const Range wrong :
       {Range{rows, 1}, Range{rows + 1, 0}, Range{0, rows + 1}, Range{5, kMost - 2}, Range{kMost, 2}}) {
    const std::vector<Range> ranges = {{0, 3}, wrong};
    CHECK_THROWS(marked.store.mark(ranges, true), InvalidInput, "reach beyond the " + std::to_string(rows));
    CHECK(marked.store.snapshot() == before);
  }
  marked.store.mark(std::vector<Range>{{rows, 0}, {0, 0}}, true);
  marked.check_states(*marked.store.snapshot(), marked.states);
}

TEST(rows_of_ids_in_a_snapshot) {
  Random random(check::seed(), "rows in");
  for (std::size_t round = 0; round < check::times(6, 100); ++round) {
    RowStore store(kDim, kMetrics[0]);
    std::vector<std::shared_ptr<const index::Snapshot>> snapshots = {store.snapshot()};
    std::vector<std::int64_t> ids = {-1, 17};  // of no row
    for (std::size_t i = 0; i < 6; ++i) {
      const Rows rows = check::grouped_rows(check::segment_size(random), kDim, fresh_ids(), random);
      const std::size_t first = check::attach(store, check::encoded(*store.snapshot(), rows), rows);
      ids.insert(ids.end(), rows.ids.begin(), rows.ids.end());
      snapshots.push_back(store.snapshot());
      if (random.one_in(2)) continue;
      store.mark(std::vector<Range>{{first + random.below(rows.ids.size()), 1}}, true);
      snapshots.push_back(store.snapshot());
    }
    for (const auto& snapshot : snapshots) {
      std::map<std::int64_t, std::int64_t> row_of;
      for (std::size_t row = 0; row < snapshot->rows; ++row) {
        if (!snapshot->is_dead(row)) row_of[snapshot->id(row)] = static_cast<std::int64_t>(row);
      }
      std::vector<std::int64_t> expected;
      for (const std::int64_t id : ids) expected.push_back(row_of.contains(id) ? row_of[id] : IdTable::kAbsent);
      CHECK(store.rows_in(*snapshot, ids) == expected);
    }
  }
}

TEST(rows_of_ids_are_absent_in_a_snapshot_of_an_earlier_layout) {
  Random random(check::seed(), "layouts");
  RowStore store(kDim, kMetrics[0]);
  const Rows rows = check::grouped_rows(50, kDim, 0, random);
  (void)check::attach(store, check::encoded(*store.snapshot(), rows), rows);
  const auto before = store.snapshot();
  Stop stop;
  store.optimize(std::vector<std::uint32_t>{4, 3, 2, 1, 0}, stop);
  const std::vector<std::int64_t> found = store.rows_in(*before, rows.ids);
  for (std::size_t i = 0; i < 50; ++i) {
    CHECK(found[i] == IdTable::kAbsent || before->id(static_cast<std::size_t>(found[i])) == rows.ids[i]);
  }
}

TEST(attached_ids_are_learnt_by_whoever_needs_them_first) {
  Random random(check::seed(), "lazily");
  const auto each = [&](auto use) {
    RowStore store(kDim, kMetrics[0]);
    Stop stop;
    store.add(check::grouped_rows(10, kDim, 0, random).batch(), stop);
    const Rows rows = check::grouped_rows(1500, kDim, 5000, random);
    CHECK_EQ(check::attach(store, check::encoded(*store.snapshot(), rows), rows), 1024U);
    use(store, rows, stop);
  };
  each([](RowStore& store, const Rows& rows, Stop&) {
    const index::Found found = store.find(rows.ids);
    for (std::size_t i = 0; i < rows.ids.size(); ++i) CHECK_EQ(found.rows[i], static_cast<std::int64_t>(1024 + i));
    CHECK(found.snapshot == store.snapshot());
  });
  each([&](RowStore& store, const Rows& rows, Stop& stop) {
    Rows again = check::grouped_rows(5, kDim, 900000, random);
    again.ids[4] = rows.ids[1499];
    const auto before = store.snapshot();
    CHECK_THROWS(store.add(again.batch(), stop), InvalidInput, "which is stored already");
    CHECK(store.snapshot() == before);
    store.upsert(again.batch(), stop);
    CHECK(store.snapshot()->is_dead(1024 + 1499));
    CHECK_EQ(store.snapshot()->live_rows(), 10U + 1500U + 4U);
  });
  each([](RowStore& store, const Rows& rows, Stop&) {
    store.remove(std::vector<std::int64_t>{rows.ids[7]});
    CHECK(store.snapshot()->is_dead(1024 + 7));
    CHECK_EQ(store.snapshot()->live_rows(), 10U + 1499U);
  });
  each([&](RowStore& store, const Rows& rows, Stop& stop) {
    const std::int64_t largest = *std::max_element(rows.ids.begin(), rows.ids.end());
    Rows more = check::random_rows(3, kDim, 10, random);
    CHECK_EQ(store.add_automatic(more.batch(), stop), largest + 1);
  });
  each([](RowStore& store, const Rows& rows, Stop&) {
    // An id of a row that is gone stays known, or a removed row could not be put back.
    store.mark(std::vector<Range>{{1024, 1}}, true);
    CHECK_EQ(store.find(std::vector<std::int64_t>{rows.ids[0]}).rows[0], 1024);
    CHECK_EQ(store.rows_in(*store.snapshot(), std::vector<std::int64_t>{rows.ids[0]})[0], IdTable::kAbsent);
  });
}

TEST(a_marked_row_that_is_removed_or_replaced_by_id_is_counted_once) {
  Random random(check::seed(), "once");
  RowStore store(kDim, kMetrics[0]);
  Stop stop;
  const Rows rows = check::grouped_rows(100, kDim, 0, random);
  (void)check::attach(store, check::encoded(*store.snapshot(), rows), rows);
  store.mark(std::vector<Range>{{0, 10}}, true);
  store.remove(std::vector<std::int64_t>{rows.ids[3], rows.ids[50]});
  CHECK_EQ(store.snapshot()->live_rows(), 89U);
  Rows again = check::grouped_rows(2, kDim, 1000, random);
  again.ids = {rows.ids[4], rows.ids[60]};
  store.upsert(again.batch(), stop);
  CHECK_EQ(store.snapshot()->live_rows(), 90U);
  CHECK_EQ(store.snapshot()->live().count(), 90U);
}
