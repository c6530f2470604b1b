// SPDX-License-Identifier: Apache-2.0
// Bounded selection against sorting everything.
//
// P4. Seen red with: `better` comparing ids downward, push() comparing only scores with the k-th best,
// the threshold taken from a hit other than the k-th after shrinking, merge() passing over hits that
// equal the threshold.
#include "search/top_k.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "check.hpp"
#include "random.hpp"
#include "reference.hpp"

namespace {

using namespace evidex;
using reference::Scored;
using search::Hit;
using search::TopK;

const std::vector<std::size_t> kKs{0, 1, 2, 9, 10, 63, 64, 65, 100, 1000};
constexpr float kMax = std::numeric_limits<float>::max();

enum class Order { ascending, descending, constant, duplicates, random, extremes };
constexpr Order kOrders[] = {Order::ascending,  Order::descending, Order::constant,
                             Order::duplicates, Order::random,     Order::extremes};

std::vector<Hit> make(std::size_t n, Order order, check::Random& random) {
  std::vector<std::int64_t> ids(n);
  std::iota(ids.begin(), ids.end(), 0);
  random.shuffle(ids);
  if (n > 1) ids[random.below(n)] = std::numeric_limits<std::int64_t>::max();
  std::vector<Hit> hits(n);
  for (std::size_t i = 0; i < n; ++i) {
    const float extremes[] = {kMax, -kMax, 0.0F, 0x1p-149F, -0x1p-149F};
    float score = random.real();
    if (order == Order::ascending) score = static_cast<float>(i);
    if (order == Order::descending) score = -static_cast<float>(i);
    if (order == Order::constant) score = 0.25F;
    if (order == Order::duplicates) score = random.whole(3);
    if (order == Order::extremes) score = extremes[random.below(5)];
    hits[i] = {score, ids[i]};
  }
  return hits;
}

std::vector<Scored> sorted_all(const std::vector<Hit>& hits) {
  std::vector<Scored> all;
  for (const Hit& hit : hits) all.push_back({hit.score, hit.id});
  return reference::ranked(std::move(all));
}

void expect_prefix(const std::vector<Hit>& got, const std::vector<Scored>& ranked, std::size_t k) {
  CHECK_EQ(got.size(), std::min(k, ranked.size()));
  for (std::size_t i = 0; i < got.size(); ++i) {
    CHECK_EQ(got[i].id, ranked[i].id);
    CHECK_BITS(got[i].score, ranked[i].score);
  }
}

template <class Body>
void for_all(const char* stream, Body body) {
  check::Random random(check::seed(), stream);
  for (const std::size_t n : {0U, 1U, 2U, 64U, 65U, 129U, 1000U, 3001U}) {
    for (const Order order : kOrders) {
      const check::Note note(n, " hits, order ", static_cast<int>(order));
      const std::vector<Hit> hits = make(n, order, random);
      std::vector<std::size_t> ks = kKs;
      for (const std::size_t k : {n, n + 1, n / 2}) ks.push_back(k);
      body(hits, sorted_all(hits), ks, random);
    }
  }
}

}  // namespace

TEST(the_same_as_sorting_everything) {
  for_all("sort", [](const auto& hits, const auto& ranked, const auto& ks, check::Random&) {
    for (const std::size_t k : ks) {
      const check::Note note("k ", k);
      TopK top(k);
      for (const Hit& hit : hits) top.push(hit);
      expect_prefix(top.sorted(), ranked, k);
    }
  });
}

TEST(arrival_order_and_splitting_do_not_matter) {
  for_all("merge", [](const auto& hits, const auto& ranked, const auto& ks, check::Random& random) {
    std::vector<Hit> shuffled = hits;
    for (const std::size_t k : ks) {
      const check::Note note("k ", k);
      random.shuffle(shuffled);
      std::vector<TopK> parts;
      for (std::size_t i = 1 + random.below(5); i > 0; --i) parts.emplace_back(k);
      for (const Hit& hit : shuffled) parts[random.below(parts.size())].push(hit);
      random.shuffle(parts);
      for (std::size_t i = 1; i < parts.size(); ++i) parts[0].merge(parts[i]);
      expect_prefix(parts[0].sorted(), ranked, k);
    }
  });
}

TEST(filtering_by_the_threshold_loses_nothing) {
  for_all("threshold", [](const auto& hits, const auto& ranked, const auto& ks, check::Random&) {
    for (const std::size_t k : ks) {
      const check::Note note("k ", k);
      TopK top(k);
      for (const Hit& hit : hits) {
        if (hit.score >= top.threshold()) top.push(hit);
      }
      expect_prefix(top.sorted(), ranked, k);
    }
  });
}

TEST(scores_below_the_least_never_enter_and_equal_ones_do) {
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  for (const float least : {-1.0F, 0.0F, 0.5F, 0x1p-149F}) {
    for (const std::size_t k : {std::size_t{1}, std::size_t{3}, std::size_t{200}}) {
      const check::Note note("least ", least, ", k ", k);
      TopK top(k, least);
      const float under = std::nextafter(least, -std::numeric_limits<float>::infinity());
      for (std::int64_t id = 0; id < 300; ++id) top.push({under, id});
      CHECK(top.threshold() <= least);
      CHECK(TopK(top).sorted().empty());
      top.push({least, kLast});
      CHECK_EQ(TopK(top).sorted().size(), std::size_t{1});
      top.push({least, 7});
      top.push({least + 1, 9});
      const auto hits = top.sorted();
      CHECK_EQ(hits.size(), std::min<std::size_t>(k, 3));
      CHECK_EQ(hits[0].id, 9);
      if (k > 1) CHECK_EQ(hits[1].id, 7);
      if (k > 2) CHECK_EQ(hits[2].id, kLast);
    }
  }
}

TEST(the_threshold_only_rises_and_nothing_passes_for_k_zero) {
  check::Random random(check::seed(), "rises");
  TopK top(10);
  TopK none(0);
  CHECK(none.threshold() == std::numeric_limits<float>::infinity());
  float before = top.threshold();
  CHECK(before == -std::numeric_limits<float>::infinity());
  for (std::int64_t i = 0; i < 5000; ++i) {
    top.push({random.real(), i});
    none.push({kMax, i});
    CHECK(top.threshold() >= before);
    before = top.threshold();
  }
  CHECK(before > 0.9F);  // the threshold does its work
  CHECK(none.sorted().empty());
}

TEST(better_is_a_strict_total_order) {
  check::Random random(check::seed(), "order");
  for (std::size_t i = check::times(20000, 1000000); i > 0; --i) {
    const auto hit = [&] { return Hit{random.whole(2), random.between(0, 3)}; };
    const Hit a = hit();
    const Hit b = hit();
    const Hit c = hit();
    const bool same = a.score == b.score && a.id == b.id;
    CHECK_EQ(search::better(a, b) + search::better(b, a) + same, 1);
    if (search::better(a, b) && search::better(b, c)) CHECK(search::better(a, c));
  }
}
