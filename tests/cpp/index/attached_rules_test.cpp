// SPDX-License-Identifier: Apache-2.0
// Who may read attached rows: a group has one rule, the newest that was given, whatever way its rows came.
//
// P2. Seen red with owners kept in the segment, so that a second store writes over those of the first; with rules of
// known groups left as they were; with an attached group found by its name alone, so that a row that is a group of its
// own kept the old rule.
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
using index::RowStore;
using index::Segment;
using kernels::kMetrics;

constexpr std::size_t kDim = 3;
constexpr std::uint32_t kRules = 7;

std::int64_t fresh_ids() {
  static std::int64_t used = 0;
  return ++used * 1000000;
}

/// Live rows are granted exactly where their group's rule is.
void check_rules(const index::Snapshot& snapshot, const std::map<std::int64_t, std::uint32_t>& rule_of) {
  for (std::uint32_t rule = 0; rule < kRules; ++rule) {
    std::vector<std::uint8_t> allowed(rule + 1);
    allowed[rule] = 1;
    const search::Bitmask granted = snapshot.grant(allowed);
    for (std::size_t row = 0; row < snapshot.rows; ++row) {
      const bool expected = !snapshot.is_dead(row) && rule_of.at(snapshot.group(row)) == rule;
      CHECK_EQ(granted.test(row) && !snapshot.is_dead(row), expected);
    }
  }
}

/// Rows under rules of `random`'s choosing, which `rule_of` learns.
Rows ruled_rows(std::size_t n, std::map<std::int64_t, std::uint32_t>& rule_of, Random& random) {
  Rows rows = check::grouped_rows(n, kDim, fresh_ids(), random);
  std::map<std::int64_t, std::uint32_t> chosen;
  for (std::size_t i = 0; i < n; ++i) {
    const auto rule = static_cast<std::uint32_t>(random.below(kRules));
    rows.rules[i] = chosen.try_emplace(rows.groups[i], rule).first->second;
    rule_of[rows.groups[i]] = rows.rules[i];
  }
  return rows;
}

}  // namespace

TEST(a_group_has_the_rule_that_was_given_last) {
  Random random(check::seed(), "last");
  RowStore store(kDim, kMetrics[0]);
  Stop stop;
  std::map<std::int64_t, std::uint32_t> rule_of;
  for (std::size_t step = 0; step < check::times(40, 1000); ++step) {
    const auto rule = static_cast<std::uint32_t>(random.below(kRules));
    switch (random.below(4)) {
      case 0:
        store.upsert(ruled_rows(1 + random.below(100), rule_of, random).batch(), stop);
        break;
      case 1: {
        const Rows rows = ruled_rows(1 + random.below(2000), rule_of, random);
        (void)check::attach(store, check::encoded(*store.snapshot(), rows), rows);
        break;
      }
      case 2: {
        std::vector<std::int64_t> groups;
        std::vector<std::uint32_t> rules;
        for (std::int64_t group = 0; group < 2 * check::kGroups; ++group) {
          if (!random.one_in(20)) continue;
          groups.push_back(group);
          rules.push_back((rule + static_cast<std::uint32_t>(group)) % kRules);
          if (rule_of.contains(group)) rule_of[group] = rules.back();
        }
        const auto before = store.snapshot();
        const std::size_t owners = before->owners->size();
        store.set_known_rules(groups, rules);
        CHECK(store.snapshot() == before);
        CHECK_EQ(before->owners->size(), owners);  // nothing is remembered of unknown groups
        break;
      }
      default:
        if (!rule_of.empty()) {
          const std::int64_t group = rule_of.begin()->first;
          store.set_rule(std::vector<std::int64_t>{group}, rule);
          rule_of[group] = rule;
        }
    }
    if (step % 8 == 0) check_rules(*store.snapshot(), rule_of);
  }
  check_rules(*store.snapshot(), rule_of);
  CHECK_EQ(store.snapshot()->owners->size(), rule_of.size());
}

TEST(an_unknown_group_gets_nothing_and_later_the_rule_of_its_rows) {
  Random random(check::seed(), "unknown");
  RowStore store(kDim, kMetrics[0]);
  const std::vector<std::int64_t> groups = {5};
  store.set_known_rules(groups, std::vector<std::uint32_t>{1});
  CHECK_THROWS(store.set_rule(groups, 1), NotFound, "group 5 has no rows");
  Rows rows = check::grouped_rows(3, kDim, 0, random);
  rows.groups = {5, 6, 5};
  rows.rules = {2, access::kNoRule, 2};
  (void)check::attach(store, check::encoded(*store.snapshot(), rows), rows);
  const auto snapshot = store.snapshot();
  CHECK(check::granted_ids(*snapshot, {0, 1}).empty());
  CHECK(check::granted_ids(*snapshot, {1, 1, 1}) == std::vector<std::int64_t>({rows.ids[0], rows.ids[2]}));
  // A pinned snapshot hears of a right that is given or taken.
  store.set_known_rules(std::vector<std::int64_t>{6, 7, 5}, std::vector<std::uint32_t>{2, 2, access::kNoRule});
  CHECK(check::granted_ids(*snapshot, {1, 1, 1}) == std::vector<std::int64_t>{rows.ids[1]});
}

TEST(attaching_replaces_the_rule_of_rows_that_were_there) {
  Random random(check::seed(), "replace");
  RowStore store(kDim, kMetrics[0]);
  Stop stop;
  Rows rows = check::grouped_rows(20, kDim, 0, random);
  rows.groups.assign(20, 9);
  rows.rules.assign(20, 1);
  store.add(rows.batch(), stop);
  const auto before = store.snapshot();
  CHECK_EQ(check::granted_ids(*before, {0, 1}).size(), 20U);
  Rows more = check::grouped_rows(5, kDim, 1000, random);
  more.groups.assign(5, 9);
  more.rules.assign(5, 3);
  (void)check::attach(store, check::encoded(*before, more), more);
  CHECK_EQ(check::granted_ids(*before, {0, 1}).size(), 0U);
  CHECK_EQ(check::granted_ids(*before, {0, 0, 0, 1}).size(), 20U);
  CHECK_EQ(check::granted_ids(*store.snapshot(), {0, 0, 0, 1}).size(), 25U);
  more.rules[3] = 4;
  CHECK_THROWS(check::attach(store, check::encoded(*before, more), more), InvalidInput,
               "row 3 gives group 9 another rule than an earlier row of this call");
  CHECK_EQ(check::granted_ids(*store.snapshot(), {0, 0, 0, 1}).size(), 25U);
}

TEST(a_row_that_is_a_group_of_its_own_is_of_the_attached_group_of_that_number) {
  Random random(check::seed(), "own");
  RowStore store(kDim, kMetrics[0]);
  Stop stop;
  const Rows alone = check::random_rows(4, kDim, 3, random);  // ids, and so groups, 0 to 3
  store.add(alone.batch(), stop);
  store.set_known_rules(std::vector<std::int64_t>{2}, std::vector<std::uint32_t>{6});
  CHECK(check::granted_ids(*store.snapshot(), {0, 0, 0, 0, 0, 0, 1}) == std::vector<std::int64_t>{2});
  Rows rows = check::grouped_rows(1, kDim, 1000, random);
  rows.groups = {1};
  rows.rules = {5};
  (void)check::attach(store, check::encoded(*store.snapshot(), rows), rows);
  CHECK(check::granted_ids(*store.snapshot(), {0, 0, 0, 0, 0, 1}) == std::vector<std::int64_t>({1, rows.ids[0]}));
  store.set_rule(std::vector<std::int64_t>{1}, 6);
  CHECK(check::granted_ids(*store.snapshot(), {0, 0, 0, 0, 0, 1}).empty());
  CHECK_EQ(check::granted_ids(*store.snapshot(), {0, 0, 0, 0, 0, 0, 1}).size(), 3U);
}

TEST(two_stores_with_the_same_segment_share_no_owners) {
  Random random(check::seed(), "two");
  RowStore a(kDim, kMetrics[0]);
  RowStore b(kDim, kMetrics[0]);
  Stop stop;
  Rows others = check::random_rows(30, kDim, 1000, random);  // owners of b are numbered otherwise
  for (std::int64_t& id : others.ids) id += 5000;
  others.give_rules();
  b.add(others.batch(), stop);
  const Rows rows = check::grouped_rows(2000, kDim, fresh_ids(), random);
  const Segment segment = check::encoded(*a.snapshot(), rows);
  std::map<std::int64_t, std::uint32_t> rule_of_a;
  std::map<std::int64_t, std::uint32_t> rule_of_b;
  std::vector<std::uint32_t> rules_of_b;
  for (std::size_t i = 0; i < rows.ids.size(); ++i) {
    rule_of_a[rows.groups[i]] = rows.rules[i];
    rules_of_b.push_back(static_cast<std::uint32_t>((rows.groups[i] + 1) % kRules));
    rule_of_b[rows.groups[i]] = rules_of_b.back();
  }
  (void)a.attach(segment, rows.rules, stop);
  const auto of_a = a.snapshot();
  const std::size_t first = b.attach(segment, rules_of_b, stop);
  for (std::size_t i = 0; i < 30; ++i) rule_of_b[others.ids[i]] = others.rules[i];
  CHECK_EQ(first, 1024U);
  check_rules(*of_a, rule_of_a);
  for (int i = 0; i < 20; ++i) {
    const std::vector<std::int64_t> group = {rows.groups[random.below(2000)]};
    const std::vector<std::uint32_t> rule = {static_cast<std::uint32_t>(random.below(kRules))};
    const bool first_store = random.one_in(2);
    (first_store ? a : b).set_known_rules(group, rule);
    (first_store ? rule_of_a : rule_of_b)[group[0]] = rule[0];
  }
  check_rules(*a.snapshot(), rule_of_a);
  CHECK((*a.snapshot()->chunks)[0]->owners.data() != (*b.snapshot()->chunks)[1]->owners.data());
  CHECK((*a.snapshot()->chunks)[0]->vectors.data() == (*b.snapshot()->chunks)[1]->vectors.data());
}

// Seen red: the group was known by the id of its first row alone, and lost with it.
TEST(a_group_outlives_the_row_it_was_named_after) {
  Random random(check::seed(), "outlives");
  for (const bool attached : {true, false}) {
    RowStore store(kDim, kMetrics[0]);
    Stop stop;
    const Rows alone = check::random_rows(4, kDim, 3, random);
    store.add(alone.batch(), stop);
    Rows rows = check::grouped_rows(2, kDim, 1000, random);
    rows.groups = {1, 1};
    rows.rules = {1, 1};
    if (attached) {
      (void)check::attach(store, check::encoded(*store.snapshot(), rows), rows);
    } else {
      store.add(rows.batch(), stop);
    }
    store.remove(std::vector<std::int64_t>{1});
    store.set_rule(std::vector<std::int64_t>{1}, 6);
    CHECK_EQ(check::granted_ids(*store.snapshot(), {0, 0, 0, 0, 0, 0, 1}).size(), 2U);
  }
}
