// SPDX-License-Identifier: Apache-2.0
// Grouped selection against sorting everything and keeping each group's first hit.
//
// P4. Seen red with: a group's hits not sorted before one is kept, groups cut after the k best rows were chosen.
#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "check.hpp"
#include "random.hpp"
#include "search/top_k.hpp"

namespace {

using namespace evidex;
using check::Random;
using search::Hit;
using search::TopK;

constexpr float kLowest = -std::numeric_limits<float>::infinity();

std::vector<Hit> by_hand(std::vector<Hit> hits, std::size_t k, float least = kLowest) {
  std::sort(hits.begin(), hits.end(), search::better);
  std::map<std::int64_t, bool> seen;
  std::vector<Hit> best;
  for (const Hit& hit : hits) {
    if (hit.score < least || std::exchange(seen[hit.group], true) || best.size() == k) continue;
    best.push_back(hit);
  }
  return best;
}

void expect_same(const std::vector<Hit>& found, const std::vector<Hit>& expected) {
  CHECK_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK_EQ(found[i].id, expected[i].id);
    CHECK_EQ(found[i].group, expected[i].group);
    CHECK_BITS(found[i].score, expected[i].score);
  }
}

/// Few scores make ties, few groups many hits per group; ids are all different.
std::vector<Hit> random_hits(std::size_t n, std::size_t groups, int scores, Random& random) {
  std::vector<Hit> hits;
  for (std::size_t i = 0; i < n; ++i) {
    const float score = scores == 0 ? random.real() : random.whole(scores);
    hits.push_back({score, static_cast<std::int64_t>(i), random.between(-1, static_cast<std::int64_t>(groups) - 2)});
  }
  random.shuffle(hits);
  return hits;
}

template <class Body>
void for_all(const char* stream, Body body) {
  Random random(check::seed(), stream);
  for (const std::size_t n : {0U, 1U, 2U, 64U, 65U, 129U, 1000U, 3001U}) {
    for (const std::size_t groups : {std::size_t{1}, std::size_t{2}, std::size_t{10}, n / 3 + 1, n + 1}) {
      for (const int scores : {0, 1, 5}) {
        const check::Note note(n, " hits, ", groups, " groups, ", scores);
        const std::vector<Hit> hits = random_hits(n, groups, scores, random);
        for (const std::size_t k : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{10}, std::size_t{64},
                                    std::size_t{100}, groups, n}) {
          const check::Note of("k ", k);
          body(hits, k, random);
        }
      }
    }
  }
}

}  // namespace

TEST(the_same_as_sorting_everything) {
  for_all("sort", [](const auto& hits, std::size_t k, Random&) {
    TopK top(k, kLowest, true);
    for (const Hit& hit : hits) {
      if (hit.score >= top.threshold()) top.push(hit);
    }
    expect_same(top.sorted(), by_hand(hits, k));
  });
}

TEST(splitting_does_not_matter) {
  for_all("merge", [](const auto& hits, std::size_t k, Random& random) {
    std::vector<TopK> parts(1 + random.below(5), TopK(k, kLowest, true));
    for (const Hit& hit : hits) parts[random.below(parts.size())].push(hit);
    random.shuffle(parts);
    for (std::size_t i = 1; i < parts.size(); ++i) parts[0].merge(parts[i]);
    expect_same(parts[0].sorted(), by_hand(hits, k));
  });
}

TEST(a_least_score) {
  for_all("least", [](const auto& hits, std::size_t k, Random& random) {
    const float least = hits.empty() ? 0.0F : hits[random.below(hits.size())].score;
    TopK top(k, least, true);
    for (const Hit& hit : hits) top.push(hit);
    expect_same(top.sorted(), by_hand(hits, k, least));
  });
}

TEST(the_threshold_is_the_kth_group_and_never_above_it) {
  for_all("threshold", [](const auto& hits, std::size_t k, Random&) {
    TopK top(k, kLowest, true);
    std::vector<Hit> pushed;
    for (const Hit& hit : hits) {
      top.push(hit);
      pushed.push_back(hit);
      if (pushed.size() % 97 != 0 || k == 0) continue;
      const std::vector<Hit> best = by_hand(pushed, k);
      CHECK(top.threshold() <= (best.size() == k ? best.back().score : kLowest));
    }
    const std::vector<Hit> best = by_hand(hits, k);
    const std::vector<Hit> found = top.best();
    CHECK_EQ(found.size(), best.size());
    if (k > 0 && best.size() == k) CHECK_BITS(top.threshold(), best.back().score);
  });
}

TEST(one_group_gives_one_hit_however_many_there_are) {
  for (const std::size_t k : {1U, 3U, 100U}) {
    TopK top(k, kLowest, true);
    for (std::int64_t id = 0; id < 1000; ++id) top.push({static_cast<float>(id % 50), 1000 - id, 7});
    const std::vector<Hit> found = top.sorted();
    CHECK_EQ(found.size(), 1U);
    CHECK_BITS(found[0].score, 49.0F);
    CHECK_EQ(found[0].id, 1);
  }
}

TEST(ties_across_groups_go_to_the_lower_id) {
  TopK top(2, kLowest, true);
  for (const Hit& hit : {Hit{1, 9, 1}, Hit{1, 8, 1}, Hit{1, 7, 2}, Hit{1, 3, 3}, Hit{1, 5, 2}, Hit{0, 1, 4}}) {
    top.push(hit);
  }
  expect_same(top.sorted(), {{1, 3, 3}, {1, 5, 2}});
}
