// SPDX-License-Identifier: Apache-2.0
// When codes are read, how far, and when they are given up: what the plan and the trace say, with the answer the same
// every time.
//
// P7. Seen red with: codes never or always given up, the planes' sums not combined, for blocks and for gathered rows.
#include <cmath>
#include <vector>

#include "check.hpp"
#include "index/code_writer.hpp"
#include "index/coded_world.hpp"
#include "index/prescan.hpp"
#include "random.hpp"

namespace {

using namespace evidex;
using check::Asked;
using check::CodedWorld;
using check::Kind;
using check::Random;
using codecs::Codec;
using search::Bitmask;

constexpr std::size_t kMany = 19000;  // enough for a sample, without the rows that were replaced

Asked all_of(const CodedWorld& world, std::size_t count, unsigned workers) {
  Asked asked;
  asked.count = count;
  asked.workers = workers;
  asked.masks.push_back(Bitmask::ones(world.rows()));
  return asked;
}

std::size_t abandoned(CodedWorld& world, const Asked& asked) {
  const check::Answer answer = world.compare(asked);
  CHECK(answer.only().prescan);
  CHECK(answer.only().permitted >= 16 * 1024);
  return answer.trace.abandoned;
}

/// All rows, but few in the words that hold a hit: these are gathered.
Bitmask sparse_about_the_best(CodedWorld& world, const Asked& asked) {
  std::vector<bool> is_hit(world.rows());
  std::vector<bool> sparse(world.rows() / 64 + 1);
  for (std::size_t q = 0; q < asked.count; ++q) {
    for (const reference::Scored& hit : world.best(q, asked, asked.masks[0])) {
      const std::size_t row = world.model().stored().at(hit.id);
      is_hit[row] = true;
      sparse[row / 64] = true;
    }
  }
  std::vector<std::int64_t> permitted;
  for (std::size_t r = 0; r < world.rows(); ++r) {
    if (!sparse[r / 64] || is_hit[r] || r % 13 == 0) permitted.push_back(static_cast<std::int64_t>(r));
  }
  return Bitmask::from_rows(world.rows(), permitted);
}

}  // namespace

TEST(codes_pay_from_so_many_rows_on_and_for_a_share_of_them) {
  CHECK(!index::prescan_pays(384, 2047, 1, false));
  CHECK(index::prescan_pays(384, 2048, 1, false));
  CHECK(index::prescan_pays(384, 2048, 0, false));
  CHECK(index::prescan_pays(384, 2048, 128, false));
  CHECK(!index::prescan_pays(384, 2048, 129, false));
  CHECK(index::prescan_pays(384, 2048, 2048, true));
  // Longer rows are worth it sooner, and never before they have codes.
  CHECK(index::prescan_pays(1536, 512, 1, false));
  CHECK(!index::prescan_pays(1536, 511, 1, false));
  CHECK(!index::prescan_pays(64, 2047, 1, false));
  for (const std::size_t dim : {32U, 384U, 500U, 1536U, 100000U}) {
    CHECK(index::prescan_pays(dim, index::least_coded_rows(dim), 1, false));
    CHECK(!index::prescan_pays(dim, index::least_coded_rows(dim) - 1, 1, false));
  }
  CHECK(!index::prescan_pays(384, 2047, 2047, true));
}

TEST(the_plan_of_each_mask_follows_the_rows_it_permits) {
  Random random(check::seed(), "plan");
  CodedWorld world({5000, 32, kernels::kMetrics[0], {}, Kind::apart, 6}, random);
  Asked asked = all_of(world, 6, 2);
  asked.k = 150;
  asked.masks.push_back(Bitmask(world.rows(), {}));
  asked.masks.push_back(Bitmask::ones(2300));
  asked.masks.push_back(Bitmask::ones(2600));
  asked.mask_of = {3, 0, 2, 1, 2, 0};
  const check::Answer answer = world.compare(asked);
  for (std::size_t m = 0; m < 4; ++m) {
    const index::MaskPlan& plan = answer.planned.masks[m];
    CHECK_EQ(plan.permitted, world.store.snapshot()->count_permitted(asked.masks[m]));
    CHECK_EQ(plan.returned, std::min<std::size_t>(150, plan.permitted));
    CHECK_EQ(plan.prescan, index::prescan_pays(32, plan.permitted, plan.returned, false));
  }
  CHECK(answer.planned.masks[0].prescan);
  CHECK(!answer.planned.masks[2].prescan);
}

TEST(codes_that_tell_rows_apart_are_not_given_up) {
  for (const kernels::Metric& metric : kernels::kMetrics) {
    Random random(check::seed(), "easy", static_cast<std::uint64_t>(metric.id));
    CodedWorld world({kMany, 48, metric, {}, Kind::apart, 20}, random);
    for (const std::size_t count : {1U, 20U}) {
      for (const unsigned workers : {1U, 3U}) CHECK_EQ(abandoned(world, all_of(world, count, workers)), 0U);
    }
  }
}

TEST(codes_of_rows_that_hardly_differ_are_given_up) {
  for (const kernels::Metric& metric : kernels::kMetrics) {
    Random random(check::seed(), "hard", static_cast<std::uint64_t>(metric.id));
    CodedWorld world({kMany, 32, metric, {}, Kind::nearly_equal, 20, false}, random);
    for (const std::size_t count : {1U, 20U}) {
      for (const unsigned workers : {1U, 3U}) CHECK_EQ(abandoned(world, all_of(world, count, workers)), count);
    }
    Asked grouped = all_of(world, 3, 2);
    grouped.grouped = true;
    CHECK_EQ(abandoned(world, grouped), 3U);
    Asked least = all_of(world, 1, 1);
    least.min_score = world.best(0, least, least.masks[0]).back().score;
    CHECK_EQ(abandoned(world, least), 1U);
  }
}

TEST(rows_that_only_both_planes_tell_apart) {
  // An outlier makes the steps of the code large: the high plane leaves half the rows over, the low one few.
  for (const kernels::Metric& metric : kernels::kMetrics) {
    for (const Codec codec : {Codec::float32, Codec::int8}) {
      Random random(check::seed(), "outliers", static_cast<std::uint64_t>(metric.id));
      CodedWorld world({kMany, 128, metric, {codec, true}, Kind::outliers, 3}, random);
      for (const std::size_t count : {1U, 3U}) {
        Asked asked = all_of(world, count, 2);
        CHECK_EQ(abandoned(world, asked), 0U);
        asked.masks[0] = sparse_about_the_best(world, asked);
        CHECK_EQ(abandoned(world, asked), 0U);
      }
    }
  }
}

TEST(a_mask_of_rows_that_hardly_differ_does_not_give_up_the_other_ones) {
  Random random(check::seed(), "one of two");
  CodedWorld world({kMany, 32, kernels::kMetrics[0], {}, Kind::apart, 8, false}, random);
  const std::size_t first = world.rows();
  check::Vectors same(Kind::nearly_equal, 32, random);
  check::Rows rows;
  for (std::size_t i = 0; i < kMany; ++i) {
    rows.ids.push_back(static_cast<std::int64_t>(100000000 + i));
    rows.rules.push_back(0);
    rows.groups.push_back(static_cast<std::int64_t>(i));
    const std::vector<float> v = same.next();
    rows.vectors.insert(rows.vectors.end(), v.begin(), v.end());
  }
  world.put(rows);
  Asked asked = all_of(world, 8, 1);
  asked.masks[0] = Bitmask::ones(first);
  std::vector<std::int64_t> rest;
  for (std::size_t r = first; r < world.rows(); ++r) rest.push_back(static_cast<std::int64_t>(r));
  asked.masks.push_back(Bitmask::from_rows(world.rows(), rest));
  asked.mask_of = {0, 1, 1, 0, 0, 1, 0, 0};
  for (const unsigned workers : {1U, 3U}) {
    asked.workers = workers;
    CHECK_EQ(world.compare(asked).trace.abandoned, 3U);
  }
}
