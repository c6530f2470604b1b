// SPDX-License-Identifier: Apache-2.0
// Two stores that must answer alike: one is given its rows in segments, the other by add, which is compared with
// brute force elsewhere.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "index/flat.hpp"
#include "index/model.hpp"
#include "index/segment.hpp"
#include "random.hpp"

namespace evidex::check {

inline constexpr std::int64_t kGroups = 300;

/// Ids from `first_id` on, in no order and with holes; every row has a group below kGroups.
inline Rows grouped_rows(std::size_t n, std::size_t dim, std::int64_t first_id, Random& random) {
  Rows rows = random_rows(n, dim, static_cast<std::int64_t>(2 * n), random, random.one_in(2));
  for (std::int64_t& id : rows.ids) id += first_id;
  for (std::size_t i = 0; i < n; ++i) rows.groups.push_back(random.between(0, kGroups - 1));
  rows.give_rules();
  return rows;
}

inline index::Segment encoded(const index::Snapshot& like, const Rows& rows) {
  Stop stop;
  return index::encode(like, rows.ids, rows.groups, rows.vectors.data(), stop);
}

/// The same as a store of this kind would encode it.
inline index::Segment encoded(const kernels::Metric& metric, std::size_t dim, const index::Storage& storage,
                              const Rows& rows) {
  return encoded(*index::RowStore(dim, metric, storage).snapshot(), rows);
}

inline std::size_t attach(index::RowStore& store, const index::Segment& segment, const Rows& rows) {
  Stop stop;
  return store.attach(segment, rows.rules, stop);
}

/// From 0, some below 64, some of several units of 1,024 and a rest.
inline std::size_t segment_size(Random& random) {
  const std::size_t most[] = {64, 1024, 5000};
  return 1 + random.below(most[random.below(3)]);
}

struct Outcome {
  std::vector<std::vector<search::Hit>> hits;
  index::MaskPlan plan;
};

/// A search on exactly query.threads threads.
inline Outcome outcome(const index::Snapshot& snapshot, const index::Query& query) {
  Outcome found;
  found.hits.resize(query.count);
  index::Plan planned = index::plan(snapshot, query);
  planned.workers = query.threads;
  found.plan = planned.masks[0];
  Stop stop;
  (void)index::search(
      snapshot, query, planned, [&](std::size_t q, const std::vector<search::Hit>& hits) { found.hits[q] = hits; },
      stop);
  return found;
}

/// The live rows whose id is wanted, and every number that has no live row.
inline search::Bitmask wanted_and_gaps(const index::Snapshot& snapshot,
                                       const std::function<bool(std::int64_t)>& wanted) {
  std::vector<std::int64_t> numbers;
  for (std::size_t row = 0; row < snapshot.rows; ++row) {
    if (snapshot.is_dead(row) || wanted(snapshot.id(row))) numbers.push_back(static_cast<std::int64_t>(row));
  }
  return search::Bitmask::from_rows(snapshot.rows + 77, numbers);
}

/// Searches of many kinds in both; ids, groups and score bits must be equal, and hits lie where their rows lie. Returns
/// how many of the searches in `a` read codes first.
inline std::size_t require_alike(const index::Snapshot& a, const index::Snapshot& b, std::size_t searches,
                                 Random& random) {
  CHECK_EQ(a.live_rows(), b.live_rows());
  CHECK_EQ(a.live().count(), b.live().count());
  std::size_t coded = 0;
  for (std::size_t i = 0; i < searches; ++i) {
    const std::size_t count = 1 + random.below(4);
    const std::size_t k = random.one_in(4) ? 200 : 1 + random.below(12);
    const std::int64_t one_in = random.one_in(3) ? random.between(2, 30) : 1;
    const auto wanted = [&](std::int64_t id) { return id % one_in == 0; };
    const search::Bitmask masks[] = {wanted_and_gaps(a, wanted), wanted_and_gaps(b, wanted)};
    const search::Bitmask* const of_a[] = {&masks[0]};
    const search::Bitmask* const of_b[] = {&masks[1]};
    const std::vector<float> queries = random_rows(count, a.dim, 100, random, random.one_in(2)).vectors;
    const auto threads = static_cast<unsigned>(random.one_in(2) ? 1 : 3);
    const bool grouped = random.one_in(3);
    const Note note(a.metric.name, ", ", codecs::facts(a.codec).name, ", dim ", a.dim, ", ", a.rows, " row numbers, ",
                    count, " queries, k ", k, ", one in ", one_in, ", ", threads, " threads",
                    grouped ? ", grouped" : "");
    CHECK_EQ(a.count_permitted(masks[0]), b.count_permitted(masks[1]));
    CHECK(a.permitted_ids(masks[0]) == b.permitted_ids(masks[1]));
    const Outcome here = outcome(a, {queries.data(), count, k, of_a, {}, threads, index::kNoScore, grouped});
    const Outcome there = outcome(b, {queries.data(), count, k, of_b, {}, 1, index::kNoScore, grouped});
    CHECK_EQ(here.plan.permitted, there.plan.permitted);
    CHECK_EQ(here.plan.returned, there.plan.returned);
    coded += here.plan.prescan ? 1 : 0;
    for (std::size_t q = 0; q < count; ++q) {
      CHECK_EQ(here.hits[q].size(), there.hits[q].size());
      for (std::size_t h = 0; h < here.hits[q].size(); ++h) {
        const search::Hit& hit = here.hits[q][h];
        CHECK_EQ(hit.id, there.hits[q][h].id);
        CHECK_BITS(hit.score, there.hits[q][h].score);
        CHECK(hit.row < a.rows && !a.is_dead(hit.row));
        CHECK_EQ(a.id(hit.row), hit.id);
        CHECK_EQ(a.group(hit.row), b.group(there.hits[q][h].row));
        if (grouped) CHECK_EQ(hit.group, there.hits[q][h].group);
      }
    }
  }
  return coded;
}

/// What a grant of these rules permits, as ids.
inline std::vector<std::int64_t> granted_ids(const index::Snapshot& snapshot, std::vector<std::uint8_t> allowed) {
  return snapshot.permitted_ids(snapshot.grant(allowed));
}

class Twins {
 public:
  Twins(std::size_t dim, const kernels::Metric& metric, const index::Storage& storage)
      : attached(dim, metric, storage), plain(dim, metric, {storage.codec, storage.prescan}) {}

  /// The rows go into one store as a segment that a store with `as` made, into the other by upsert. Returns their
  /// first number.
  std::size_t attach(const Rows& rows, const index::Storage& as) {
    const auto snapshot = attached.snapshot();
    const std::size_t first = check::attach(attached, encoded(snapshot->metric, snapshot->dim, as, rows), rows);
    Stop stop;
    plain.upsert(rows.batch(), stop);
    return first;
  }
  void add(const Rows& rows) {
    Stop stop;
    attached.add(rows.batch(), stop);
    plain.add(rows.batch(), stop);
  }
  std::size_t compare(std::size_t searches, Random& random) const {
    return require_alike(*attached.snapshot(), *plain.snapshot(), searches, random);
  }

  index::RowStore attached;
  index::RowStore plain;
};

}  // namespace evidex::check
