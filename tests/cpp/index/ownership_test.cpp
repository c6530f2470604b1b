// SPDX-License-Identifier: Apache-2.0
// P1, P3: a rule belongs to a group, and a change of it counts for every snapshot at once.
#include "index/ownership.hpp"

#include <vector>

#include "base/error.hpp"
#include "check.hpp"
#include "index/row_store.hpp"

namespace {

using namespace evidex;
using index::RowStore;
using kernels::kMetrics;

}  // namespace

TEST(a_group_has_one_rule_and_all_its_rows_follow) {
  RowStore store(1, kMetrics[0]);
  Stop stop;
  const std::vector<std::int64_t> ids{1, 2, 3};
  const std::vector<float> vectors{1, 2, 3};
  const std::vector<std::int64_t> groups{70, 70, 80};
  const auto granted = [&](std::uint32_t rule) {
    std::vector<std::uint8_t> allowed(8);
    allowed[rule] = 1;
    const auto snapshot = store.snapshot();
    return snapshot->permitted_ids(snapshot->grant(allowed)).size();
  };
  const std::vector<std::uint32_t> mixed{1, 2, 1};
  CHECK_THROWS(store.add({ids, vectors.data(), mixed, groups}, stop), InvalidInput, "another rule than an earlier row");
  CHECK_EQ(store.snapshot()->rows, 0U);
  const std::vector<std::uint32_t> rules{1, 1, 2};
  store.add({ids, vectors.data(), rules, groups}, stop);
  const auto before = store.snapshot();
  CHECK_EQ(granted(1), 2U);
  const std::vector<std::int64_t> another{4};
  const std::vector<std::uint32_t> third{3};
  const std::vector<std::int64_t> group{70};
  CHECK_THROWS(store.add({another, vectors.data(), third, group}, stop), InvalidInput, "another rule than it has");
  store.upsert({another, vectors.data(), third, group}, stop);
  CHECK_EQ(granted(3), 3U);
  CHECK_EQ(granted(1), 0U);
  CHECK_EQ(before->permitted_ids(before->grant(std::vector<std::uint8_t>{0, 1})).size(), 0U);
  const std::vector<std::int64_t> none{71};
  CHECK_THROWS(store.set_rule(none, 1), NotFound, "group 71 has no rows");
  store.set_rule(group, 1);
  CHECK_EQ(granted(1), 3U);
  CHECK_EQ(before->permitted_ids(before->grant(std::vector<std::uint8_t>{0, 1})).size(), 2U);
}
