// SPDX-License-Identifier: Apache-2.0
// The row store as a random state machine against the model, and its refusals.
//
// P9. Seen red with: dead bits shared between two snapshots in remove(), ids erased from the table before
// all of a batch are known to be stored, a snapshot published before its rows are copied in.
#include "index/row_store.hpp"

#include <chrono>
#include <cmath>
#include <limits>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "check.hpp"
#include "index/model.hpp"

namespace {

using namespace evidex;
using check::Model;
using check::Random;
using check::Rows;
using index::RowStore;
using kernels::kMetrics;

constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();

/// Some stored ids, each once.
std::vector<std::int64_t> pick_stored(const Model& model, std::size_t n, Random& random) {
  std::vector<std::int64_t> ids;
  for (const auto& [id, row] : model.stored()) ids.push_back(id);
  random.shuffle(ids);
  ids.resize(std::min(n, ids.size()));
  return ids;
}

void check_ids(const RowStore& store, const Model& model) {
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> rows;
  for (const auto& [id, row] : model.stored()) {
    ids.push_back(id);
    rows.push_back(static_cast<std::int64_t>(row));
  }
  for (const std::int64_t id : {std::int64_t{-1}, kLast - 7, std::int64_t{123456789}}) {
    ids.push_back(id);
    rows.push_back(index::IdTable::kAbsent);
  }
  const index::Found found = store.find(ids);
  CHECK(found.rows == rows);
  CHECK(found.snapshot == store.snapshot());
}

struct Kept {
  std::shared_ptr<const index::Snapshot> snapshot;
  std::vector<check::ModelRow> layout;
};

void live_long(const kernels::Metric& metric, codecs::Codec codec, std::size_t dim, std::size_t steps, std::size_t most,
               Random& random) {
  RowStore store(dim, metric, {codec, true});
  Model model(dim, metric, codec);
  Stop stop;
  std::vector<Kept> kept{{store.snapshot(), model.layout()}};
  std::int64_t next_automatic = 0;
  for (std::size_t step = 0; step < steps; ++step) {
    const std::size_t n = random.below(most + 1);
    const std::uint64_t generation = store.snapshot()->generation;
    Rows rows = check::random_rows(n, dim, 4 * static_cast<std::int64_t>(most), random);
    if (random.one_in(2)) {
      for (std::size_t i = 0; i < n; ++i) rows.groups.push_back(random.between(1000000, 1000006));
      rows.give_rules();
    }
    bool changed = n > 0;
    switch (random.below(4)) {
      case 0: {
        std::vector<std::int64_t> automatic(n);
        std::iota(automatic.begin(), automatic.end(), next_automatic);
        rows.ids = automatic;
        rows.give_rules();
        rows.ids.clear();
        CHECK_EQ(store.add_automatic(rows.batch(), stop), next_automatic);
        rows.ids = automatic;
        model.put(rows);
        break;
      }
      case 1:
        store.upsert(rows.batch(), stop);
        model.put(rows);
        break;
      case 2: {
        const auto ids = pick_stored(model, n, random);
        store.remove(ids);
        model.remove(ids);
        changed = !ids.empty();
        rows.ids.clear();
        break;
      }
      default: {
        bool stored = false;
        for (const std::int64_t id : rows.ids) stored = stored || model.stored().contains(id);
        if (stored) {
          CHECK_THROWS(store.add(rows.batch(), stop), InvalidInput, "which is stored already");
          rows.ids.clear();
          changed = false;
        } else {
          store.add(rows.batch(), stop);
          model.put(rows);
        }
      }
    }
    for (const std::int64_t id : rows.ids) next_automatic = std::max(next_automatic, id + 1);
    CHECK_EQ(store.snapshot()->generation, generation + (changed ? 1 : 0));
    check_ids(store, model);
    if (random.one_in(4)) kept.push_back({store.snapshot(), model.layout()});
    if (random.one_in(8)) check::check_snapshot(*store.snapshot(), model.layout());
  }
  for (const Kept& old : kept) check::check_snapshot(*old.snapshot, old.layout);
  check::check_snapshot(*store.snapshot(), model.layout());
}

/// A store of 40 rows with ids 0, 10, 20, ... and what it must still look like after a refused call.
struct Filled {
  explicit Filled(const kernels::Metric& metric) : store(kDim, metric), model(kDim, metric) {
    Random random(check::seed(), "filled");
    Rows rows = check::random_rows(40, kDim, 100, random);
    for (std::size_t i = 0; i < 40; ++i) rows.ids[i] = static_cast<std::int64_t>(10 * i);
    Stop stop;
    store.add(rows.batch(), stop);
    model.put(rows);
    before = store.snapshot();
  }
  void check_unchanged() {
    CHECK(store.snapshot() == before);
    check::check_snapshot(*store.snapshot(), model.layout());
    check_ids(store, model);
  }

  static constexpr std::size_t kDim = 5;
  RowStore store;
  Model model;
  std::shared_ptr<const index::Snapshot> before;
};

}  // namespace

TEST(a_new_store_is_empty) {
  const RowStore a(3, kMetrics[0]);
  const RowStore b(3, kMetrics[0]);
  CHECK_EQ(a.snapshot()->rows, 0U);
  CHECK_EQ(a.snapshot()->generation, 0U);
  CHECK_EQ(a.snapshot()->live().rows(), 0U);
  CHECK(a.snapshot()->layout != b.snapshot()->layout);
}

TEST(the_same_as_the_model_over_a_long_life) {
  Random random(check::seed(), "long life");
  for (const kernels::Metric& metric : kMetrics) {
    for (const std::size_t most : {3U, 40U, 300U}) {
      const check::Note note(metric.name, ", up to ", most, " rows a call");
      live_long(metric, codecs::Codec::float32, 1 + random.below(20), check::times(60, 1500), most, random);
    }
  }
}

TEST(the_same_as_the_model_in_other_forms) {
  Random random(check::seed(), "other forms");
  for (const kernels::Metric& metric : kMetrics) {
    for (const codecs::Codec codec : {codecs::Codec::float16, codecs::Codec::int8}) {
      const check::Note note(metric.name, ", ", codecs::facts(codec).name);
      live_long(metric, codec, 1 + random.below(40), check::times(40, 1000), 150, random);
    }
  }
}

TEST(batches_cross_chunks) {
  Random random(check::seed(), "cross");
  RowStore store(2, kMetrics[0]);
  Model model(2, kMetrics[0]);
  Stop stop;
  for (const std::size_t n : {1000U, 48U, 1U, 1000U, 2047U, 5000U}) {
    Rows rows = check::random_rows(n, 2, 1000000, random);
    store.upsert(rows.batch(), stop);
    model.put(rows);
    check::check_snapshot(*store.snapshot(), model.layout());
  }
}

TEST(refused_rows_change_nothing) {
  Random random(check::seed(), "refused");
  for (const kernels::Metric& metric : kMetrics) {
    Filled filled(metric);
    Stop stop;
    const auto refused = [&](auto spoil, const char* part) {
      Rows rows = check::random_rows(300, Filled::kDim, 5000, random);  // more than one stop interval
      std::iota(rows.ids.begin(), rows.ids.end(), 1000);
      spoil(rows);
      const check::Note note(metric.name, ", expecting ", part);
      CHECK_THROWS(filled.store.add(rows.batch(), stop), InvalidInput, part);
      filled.check_unchanged();
      if (std::string_view(part).find("stored already") == std::string_view::npos) {
        CHECK_THROWS(filled.store.upsert(rows.batch(), stop), InvalidInput, part);
        filled.check_unchanged();
      }
    };
    refused([](Rows& r) { r.ids[299] = -1; }, "row 299 has id -1");
    refused([](Rows& r) { r.ids[7] = std::numeric_limits<std::int64_t>::min(); }, "row 7 has id -9223372036854775808");
    refused([](Rows& r) { r.ids[299] = r.ids[3]; }, "id 1003 stands in rows 3 and 299");
    refused([](Rows& r) { r.ids[299] = 390; }, "row 299 has id 390, which is stored already");
    refused([](Rows& r) { r.vectors[299 * Filled::kDim + 4] = std::nanf(""); },
            "vectors: row 299 holds nan at position 4");
    refused([](Rows& r) { r.vectors[0] = -INFINITY; }, "vectors: row 0 holds -inf at position 0");
    if (metric.unit_rows) {
      refused([](Rows& r) { std::fill_n(&r.vectors[270 * Filled::kDim], Filled::kDim, 0.0F); }, "row 270 is all zeros");
    } else {
      refused([](Rows& r) { r.vectors[270 * Filled::kDim] = 1e20F; }, "row 270 has squared norm");
    }
    // The failed batches left rows behind the end of the chunk; the next one must not see them.
    Rows good = check::random_rows(10, Filled::kDim, 5000, random);
    filled.store.upsert(good.batch(), stop);
    filled.model.put(good);
    check::check_snapshot(*filled.store.snapshot(), filled.model.layout());
  }
}

TEST(refused_removals_change_nothing) {
  Filled filled(kMetrics[0]);
  const auto remove = [&](std::vector<std::int64_t> ids) { filled.store.remove(ids); };
  CHECK_THROWS(remove({0, 10, 11}), NotFound, "id 11 is not stored");
  filled.check_unchanged();
  CHECK_THROWS(remove({0, 10, 20, 10}), InvalidInput, "id 10 stands in rows 1 and 3");
  filled.check_unchanged();
  CHECK_THROWS(remove({0, -1}), InvalidInput, "id -1");
  filled.check_unchanged();
  remove({});
  filled.check_unchanged();
}

TEST(a_stop_while_rows_are_copied_changes_nothing) {
  Filled filled(kMetrics[1]);
  Random random(check::seed(), "stopped");
  const Rows rows = check::random_rows(1000, Filled::kDim, 100000, random);
  Stop stop([] { return true; });
  std::this_thread::sleep_for(std::chrono::milliseconds(25));
  CHECK_THROWS(filled.store.upsert(rows.batch(), stop), Cancelled, "");
  filled.check_unchanged();
}

TEST(a_write_from_inside_a_write_is_refused_and_the_outer_one_goes_on) {
  Filled filled(kMetrics[0]);
  Random random(check::seed(), "inside");
  const Rows rows = check::random_rows(1000, Filled::kDim, 100000, random);
  std::string refused;
  Stop outer([&] {
    Stop inner;
    try {
      filled.store.upsert(rows.batch(), inner);
    } catch (const InvalidInput& error) {
      refused = error.what();
    }
    return false;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(25));
  filled.store.upsert(rows.batch(), outer);
  CHECK(refused.find("on this thread already") != std::string::npos);
  filled.model.put(rows);
  check::check_snapshot(*filled.store.snapshot(), filled.model.layout());
}

TEST(automatic_ids_go_on_above_the_largest_and_are_never_used_again) {
  RowStore store(1, kMetrics[0]);
  Stop stop;
  const float vector = 1;
  const std::uint32_t rule = 0;
  const auto automatic = [&] { return store.add_automatic({{}, &vector, {&rule, 1}, {}}, stop); };
  const auto given = [&](std::int64_t id) { store.upsert({{&id, 1}, &vector, {&rule, 1}, {}}, stop); };
  CHECK_EQ(automatic(), 0);
  CHECK_EQ(automatic(), 1);
  store.remove(std::vector<std::int64_t>{1});
  CHECK_EQ(automatic(), 2);
  given(1000);
  store.remove(std::vector<std::int64_t>{1000});
  CHECK_EQ(automatic(), 1001);
  given(5);
  CHECK_EQ(automatic(), 1002);
  const float bad = std::nanf("");
  CHECK_THROWS(store.add_automatic({{}, &bad, {&rule, 1}, {}}, stop), InvalidInput, "nan");
  CHECK_EQ(automatic(), 1003);
  given(kLast - 1);
  CHECK_EQ(automatic(), kLast);
  CHECK_THROWS(automatic(), InvalidInput, "automatic ids are used up");
  CHECK_EQ(store.find(std::vector<std::int64_t>{kLast}).rows[0], 9);
  given(kLast);
  CHECK_THROWS(automatic(), InvalidInput, "leaves room for 0, 1 are needed");
}
