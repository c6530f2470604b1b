// SPDX-License-Identifier: Apache-2.0
// Search through codes against brute force over the rows as they are stored: ids, order and score bits, for every
// metric, codec and kind of rows, with masks, groups, least scores, batches and threads drawn at random.
//
// P7, P5, P4, P1. Seen red with: seeds taken from rows that are not permitted, seeds not grouped, a threshold just
// above the k-th score, reach() of range_scan.hpp strictly above, facts of the first row or of a neighbour, facts of
// the other level, bounds of gathered rows not written, waiting rows forgotten in either stage, dead rows left in, the
// first mask for all queries, answers not put back into the queries' order, the last row not coded when codes start,
// float16 rows coded before rounding, rows coded without the reference, one that is not frozen, a norm packed to eight
// bits, selections of other workers not merged, no room for the sample's last batch.
#include "index/prescan.hpp"

#include <cmath>
#include <vector>

#include "check.hpp"
#include "index/coded_world.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/tables.hpp"
#include "random.hpp"

namespace {

using namespace evidex;
using check::Asked;
using check::CodedWorld;
using check::Kind;
using check::Random;
using codecs::Codec;
using search::Bitmask;

constexpr std::size_t kQueries = 20;

template <class Wanted>
Bitmask pick(std::size_t rows, Wanted wanted) {
  std::vector<std::int64_t> numbers;
  for (std::size_t r = 0; r < rows; ++r) {
    if (wanted(r)) numbers.push_back(static_cast<std::int64_t>(r));
  }
  return Bitmask::from_rows(rows, numbers);
}

/// Dense, sparse, in runs, of mixed density, shorter or longer than the rows.
Bitmask random_mask(std::size_t rows, Random& random) {
  bool on = true;
  switch (random.below(7)) {
    case 0:
      return Bitmask::ones(rows + random.below(200));
    case 1:
      return pick(rows, [&](std::size_t) { return !random.one_in(10); });
    case 2:
      return pick(rows, [&](std::size_t) { return random.one_in(2); });
    case 3:
      return pick(rows, [&](std::size_t) { return on = random.one_in(150) ? !on : on; });
    case 4:
      return pick(rows, [&](std::size_t r) { return r / 64 % 3 != 0 ? !random.one_in(8) : random.one_in(8); });
    case 5:
      return pick(rows - rows / 10, [&](std::size_t) { return true; });
    default:
      return pick(rows, [&](std::size_t) { return random.one_in(4 + random.below(60)); });
  }
}

/// None, one that a few rows reach (one of them exactly), all rows, or no row.
float random_least(CodedWorld& world, std::size_t query, Random& random) {
  std::vector<float> scores;
  for (std::size_t i = 0; i < 50; ++i) scores.push_back(world.score(query, random.below(world.rows())));
  std::sort(scores.begin(), scores.end());
  const float choices[] = {index::kNoScore, index::kNoScore, scores[49], scores[40], scores[0], 1e30F, -1.0F};
  return choices[random.below(std::size(choices))];
}

Asked random_call(CodedWorld& world, Random& random) {
  Asked asked;
  asked.count = 1 + random.below(random.one_in(2) ? 1 : kQueries);
  asked.first = random.below(kQueries - asked.count + 1);
  const std::size_t ks[] = {1, 2, 10, 100, world.rows() / 16, 2000};
  asked.k = ks[random.below(std::size(ks))];
  for (std::size_t m = 1 + random.below(3) * random.below(2); m > 0; --m) {
    asked.masks.push_back(random_mask(world.rows(), random));
  }
  for (std::size_t q = 0; q < asked.count && asked.masks.size() > 1; ++q) {
    asked.mask_of.push_back(static_cast<std::uint32_t>(random.below(asked.masks.size())));
  }
  asked.workers = static_cast<unsigned>(1 + random.below(3));
  asked.min_score = random_least(world, asked.first, random);
  asked.grouped = random.one_in(3);
  return asked;
}

/// How many calls went through codes.
struct Ways {
  std::size_t coded = 0;
  std::size_t plain = 0;
};

void search_randomly(CodedWorld& world, std::size_t calls, Random& random, Ways& ways) {
  const auto tables = check::runnable_tables();
  for (std::size_t i = 0; i < calls; ++i) {
    const kernels::Table* table = tables[random.below(tables.size())];
    kernels::force(table->isa);
    const check::Note note(table->isa, ", call ", i);
    const check::Answer answer = world.compare(random_call(world, random));
    for (const index::MaskPlan& mask : answer.planned.masks) ++(mask.prescan ? ways.coded : ways.plain);
  }
}

constexpr std::size_t kDims[] = {32, 33, 47, 64, 96, 129};

void live(const kernels::Metric& metric, index::Storage storage, Random& random, Ways& ways) {
  for (const Kind kind : check::kKinds) {
    const std::size_t rows = 2048 + random.below(4000);
    CodedWorld world({rows, kDims[random.below(std::size(kDims))], metric, storage, kind, kQueries}, random);
    search_randomly(world, check::times(3, 60), random, ways);
    world.remove(20, random);
    search_randomly(world, check::times(3, 60), random, ways);
    world.put(1 + random.below(300), random);
    search_randomly(world, check::times(3, 60), random, ways);
  }
}

}  // namespace

TEST(the_same_as_brute_force_whatever_the_rows_and_the_call) {
  Ways ways;
  for (const kernels::Metric& metric : kernels::kMetrics) {
    for (const Codec codec : {Codec::float32, Codec::float16, Codec::int8}) {
      Random random(check::seed(), codecs::facts(codec).name, static_cast<std::uint64_t>(metric.id));
      live(metric, {codec, true}, random, ways);
    }
  }
  CHECK(ways.coded > 200 && ways.plain > 50);
}

TEST(long_rows_are_searched_through_codes_when_there_are_few) {
  for (const kernels::Metric& metric : kernels::kMetrics) {
    Random random(check::seed(), "long", static_cast<std::uint64_t>(metric.id));
    Ways ways;
    CodedWorld world({1200, 801, metric, {}, Kind::clusters, kQueries}, random);
    search_randomly(world, check::times(8, 60), random, ways);
    Asked asked;
    asked.masks.push_back(Bitmask::ones(world.rows()));
    CHECK(world.compare(asked).only().prescan);
  }
}

TEST(the_same_without_codes) {
  for (const kernels::Metric& metric : kernels::kMetrics) {
    for (const Codec codec : {Codec::float32, Codec::int8}) {
      Random random(check::seed(), "without", static_cast<std::uint64_t>(metric.id));
      Ways ways;
      CodedWorld world({2500, 40, metric, {codec, false}, Kind::apart, kQueries}, random);
      search_randomly(world, check::times(5, 60), random, ways);
      CHECK_EQ(ways.coded, 0U);
    }
  }
}

TEST(sparse_masks_gather_codes) {
  // Few rows in every word, and enough of them altogether.
  for (const kernels::Metric& metric : kernels::kMetrics) {
    Random random(check::seed(), "sparse", static_cast<std::uint64_t>(metric.id));
    CodedWorld world({13000, 32, metric, {}, Kind::clusters, kQueries}, random);
    for (const std::size_t one_in : {3U, 4U, 5U}) {
      for (const std::size_t count : {1U, 5U}) {
        Asked asked;
        asked.count = count;
        asked.masks.push_back(pick(world.rows(), [&](std::size_t) { return random.one_in(one_in); }));
        asked.workers = static_cast<unsigned>(1 + random.below(3));
        CHECK(world.compare(asked).only().prescan);
      }
    }
  }
}

TEST(a_mask_that_needs_all_the_room_for_bounds) {
  // Every word is a block with no row to spare, but for the first and the last one: a row of the sample and one of the
  // rest, each in a batch that nothing else shares.
  Random random(check::seed(), "room");
  CodedWorld world({25000, 32, kernels::kMetrics[0], {}, Kind::apart, 5}, random);
  Asked asked;
  asked.count = 5;
  constexpr std::size_t kFirst = 40;  // many rows of the words before it were replaced
  const std::size_t last = (world.rows() - 1) / 64;
  const std::size_t dense = index::Dense::of(asked.count).alone;
  std::size_t left = 0;
  asked.masks.push_back(pick(world.rows(), [&](std::size_t r) {
    if (r % 64 == 0) left = r / 64 < kFirst ? 0 : r / 64 == kFirst || r / 64 == last ? 1 : dense;
    return left > 0 && !world.model().layout()[r].dead && left-- > 0;
  }));
  CHECK_EQ(world.compare(asked).only().permitted, (last - kFirst - 1) * dense + 2);
}

TEST(dead_and_forbidden_rows_that_would_win_do_not_raise_the_threshold) {
  // The best rows by far are dead or not permitted, beside permitted ones in the same words.
  for (const kernels::Metric& metric : kernels::kMetrics) {
    Random random(check::seed(), "forbidden", static_cast<std::uint64_t>(metric.id));
    CodedWorld world({4000, 48, metric, {}, Kind::apart, kQueries}, random);
    for (std::size_t q = 0; q < kQueries; ++q) {
      std::vector<float> scores;
      for (std::size_t r = 0; r < world.rows(); ++r) scores.push_back(world.score(q, r));
      std::nth_element(scores.begin(), scores.begin() + 1000, scores.end(), std::greater<>());
      Asked asked;
      asked.first = q;
      asked.masks.push_back(pick(world.rows(), [&](std::size_t r) { return world.score(q, r) <= scores[1000]; }));
      CHECK(world.compare(asked).only().prescan);
    }
    // Once more with the best of the first query removed.
    std::vector<std::int64_t> gone;
    Asked asked;
    asked.k = 200;
    asked.masks.push_back(Bitmask::ones(world.rows()));
    for (const reference::Scored& hit : world.best(0, asked, asked.masks[0])) gone.push_back(hit.id);
    world.remove_ids(gone);
    CHECK(world.compare(asked).only().prescan);
  }
}

TEST(one_group_that_has_all_the_best_rows) {
  // A threshold from rows instead of groups would leave out every other group.
  for (const kernels::Metric& metric : kernels::kMetrics) {
    Random random(check::seed(), "one group", static_cast<std::uint64_t>(metric.id));
    CodedWorld world({3000, 64, metric, {}, Kind::apart, 1}, random);
    // Copies of the query's direction: the best rows by far.
    check::Rows best;
    for (std::int64_t i = 0; i < 400; ++i) {
      best.ids.push_back(50000000 + i);
      best.rules.push_back(0);
      best.groups.push_back(7000000);
      for (std::size_t j = 0; j < 64; ++j) best.vectors.push_back(world.queries[j] * (1.0F + 0.01F * random.real()));
    }
    world.put(best);
    Asked asked;
    asked.grouped = true;
    asked.masks.push_back(Bitmask::ones(world.rows()));
    for (const std::size_t k : {1U, 2U, 10U, 50U}) {
      asked.k = k;
      for (unsigned workers = 1; workers <= 3; ++workers) {
        asked.workers = workers;
        const check::Answer answer = world.compare(asked);
        CHECK(answer.only().prescan);
        CHECK(answer.ids[answer.width - 1] != -1);
      }
    }
  }
}
