// SPDX-License-Identifier: Apache-2.0
// Rows of dimension 0: ids, groups, rules and removal as ever, and no memory for vectors.
//
// P9. Seen red, under the sanitizers, with rows of no bytes copied to no memory in row_writer and in relayout.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/error.hpp"
#include "check.hpp"
#include "index/attaching.hpp"
#include "index/lookup_codes.hpp"

namespace {

using namespace evidex;
using check::Model;
using check::Random;
using check::Rows;
using codecs::Codec;
using index::RowStore;
using kernels::kMetrics;

const kernels::Metric& inner_product() {
  return *std::find_if(std::begin(kMetrics), std::end(kMetrics),
                       [](const kernels::Metric& metric) { return metric.name == "inner_product"; });
}

std::vector<std::int64_t> some(const Model& model, std::size_t n, Random& random) {
  std::vector<std::int64_t> ids;
  for (const auto& [id, row] : model.stored()) ids.push_back(id);
  random.shuffle(ids);
  ids.resize(std::min(n, ids.size()));
  return ids;
}

/// Live rows as the model has them, by id: id, group, rule.
std::vector<std::vector<std::int64_t>> living(const std::vector<check::ModelRow>& layout) {
  std::vector<std::vector<std::int64_t>> found;
  for (const check::ModelRow& row : layout) {
    if (!row.dead) found.push_back({row.id, row.group, static_cast<std::int64_t>(row.rule)});
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::vector<std::int64_t>> living(const index::Snapshot& snapshot) {
  std::vector<std::vector<std::int64_t>> found;
  snapshot.owners->read([&](std::span<const std::uint32_t> rules) {
    for (std::size_t row = 0; row < snapshot.rows; ++row) {
      if (snapshot.is_dead(row)) continue;
      found.push_back({snapshot.id(row), snapshot.group(row), static_cast<std::int64_t>(rules[snapshot.owner(row)])});
    }
  });
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

TEST(the_same_as_the_model_without_vectors) {
  Random random(check::seed(), "no vectors");
  for (const Codec codec : {Codec::float32, Codec::float16}) {
    for (const std::size_t most : {3U, 300U, 2500U}) {
      RowStore store(0, inner_product(), {codec, true});
      Model model(0, inner_product(), codec);
      Stop stop;
      for (std::size_t step = 0; step < check::times(25, 400); ++step) {
        Rows rows = check::random_rows(random.below(most + 1), 0, 4 * static_cast<std::int64_t>(most), random);
        if (random.one_in(3)) {
          const auto ids = some(model, rows.ids.size(), random);
          store.remove(ids);
          model.remove(ids);
        } else {
          store.upsert(rows.batch(), stop);
          model.put(rows);
        }
      }
      check::check_snapshot(*store.snapshot(), model.layout());
      CHECK_EQ(store.snapshot()->row_bytes(), 0U);
      CHECK(!store.snapshot()->can_prescan());
      store.optimize(std::vector<std::uint32_t>{4, 3, 2, 1, 0}, stop);
      CHECK_EQ(store.snapshot()->rows, model.stored().size());
      CHECK(living(*store.snapshot()) == living(model.layout()));
    }
  }
}

TEST(automatic_ids_and_rules_without_vectors) {
  RowStore store(0, inner_product());
  Stop stop;
  const std::vector<std::uint32_t> rules(5, 1);
  CHECK_EQ(store.add_automatic({{}, nullptr, rules, {}}, stop), 0);
  CHECK_EQ(store.add_automatic({{}, nullptr, rules, {}}, stop), 5);
  CHECK_EQ(store.snapshot()->grant(std::vector<std::uint8_t>{0, 1}).count(), 10U);
  store.set_rule(std::vector<std::int64_t>{3, 7}, 0);
  CHECK(check::granted_ids(*store.snapshot(), {1, 0}) == (std::vector<std::int64_t>{3, 7}));
}

TEST(segments_without_vectors) {
  Random random(check::seed(), "segments");
  RowStore store(0, inner_product());
  Model model(0, inner_product());
  Stop stop;
  Rows rows = check::grouped_rows(1500, 0, 0, random);
  store.add(rows.batch(), stop);
  model.put(rows);
  RowStore copy(0, inner_product());
  (void)check::attach(copy, check::encoded(*copy.snapshot(), rows), rows);
  CHECK(living(*copy.snapshot()) == living(model.layout()));

  std::vector<std::int64_t> numbers(1500);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int64_t>(numbers.size() - 1 - i);
  const index::Segment segment = index::gather(*store.snapshot(), numbers, stop);
  CHECK(segment.chunk->vectors.empty());
  RowStore reversed(0, inner_product());
  std::reverse(rows.rules.begin(), rows.rules.end());
  (void)check::attach(reversed, segment, rows);
  CHECK(living(*reversed.snapshot()) == living(model.layout()));
  const Rows more = check::grouped_rows(90, 0, 100000, random);
  reversed.add(more.batch(), stop);
  model.put(more);
  CHECK(living(*reversed.snapshot()) == living(model.layout()));
}

TEST(what_needs_vectors_is_refused) {
  for (const kernels::Metric& metric : kMetrics) {
    if (metric.unit_rows) CHECK_THROWS(RowStore(0, metric), InvalidInput, "rows without components");
    CHECK_THROWS(RowStore(0, metric, {Codec::int8, true}), InvalidInput, "rows without components");
  }
  RowStore store(0, inner_product());
  Stop stop;
  const Rows rows = [] {
    Random random(check::seed(), "refused");
    return check::random_rows(300, 0, 1000, random);
  }();
  store.add(rows.batch(), stop);
  const search::Bitmask all = store.snapshot()->live();
  const search::Bitmask* const masks[] = {&all};
  CHECK_THROWS(check::outcome(*store.snapshot(), {nullptr, 1, 3, masks, {}, 1}), InvalidInput, "no vectors to search");
  CHECK_THROWS(index::train(*store.snapshot(), codecs::LookupKind{}, 0, stop), InvalidInput, "have no vectors");
}
