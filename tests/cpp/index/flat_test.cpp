// SPDX-License-Identifier: Apache-2.0
// Flat search against brute force: ids and score bits, for every metric, instruction set, batch size,
// thread count and kind of mask.
//
// P7, P5, P4, P1. Seen red with: > in place of >= in either reach(), `better` comparing ids downward,
// push() comparing only scores, the rows still waiting at the end of a range not flushed, rows of a block
// selected whether permitted or not, dead rows left in, ranges of mask words one word short, the last
// worker's selection not merged.
#include "index/flat.hpp"

#include <chrono>
#include <cmath>
#include <thread>

#include "base/error.hpp"
#include "check.hpp"
#include "index/world.hpp"
#include "kernels/dispatch.hpp"

namespace {

using namespace evidex;
using check::Random;
using check::World;
using search::Bitmask;

constexpr std::size_t kQueries = 70;
constexpr std::size_t kBatches[] = {1, 2, 19, 20, 21, 33, kQueries};

std::vector<Bitmask> masks(std::size_t rows, Random& random) {
  const auto pick = [&](auto wanted, std::size_t length) {
    std::vector<std::int64_t> numbers;
    for (std::size_t r = 0; r < length; ++r) {
      if (wanted(r)) numbers.push_back(static_cast<std::int64_t>(r));
    }
    return Bitmask::from_rows(length, numbers);
  };
  bool on = false;
  std::vector<Bitmask> all;
  all.push_back(Bitmask(rows, {}));
  all.push_back(Bitmask::ones(rows));
  all.push_back(pick([&](std::size_t) { return random.one_in(100); }, rows));
  all.push_back(pick([&](std::size_t) { return random.one_in(2); }, rows));
  all.push_back(pick([&](std::size_t) { return on = random.one_in(80) ? !on : on; }, rows));
  all.push_back(pick([&](std::size_t r) { return r / 64 == (rows - 1) / 64; }, rows));
  all.push_back(pick([&](std::size_t) { return random.one_in(3); }, rows / 2));
  all.push_back(Bitmask::ones(rows + 1000));
  return all;
}

template <class Body>
void for_each_set(Body body) {
  for (const kernels::IsaStatus& status : kernels::report()) {
    if (!status.supported) continue;
    kernels::force(status.name);
    const check::Note note(status.name);
    body();
  }
}

std::vector<std::vector<reference::Scored>> rank_all(const World& world, const Bitmask& allow) {
  std::vector<std::vector<reference::Scored>> all;
  for (std::size_t q = 0; q < kQueries; ++q) all.push_back(world.ranked(q, allow));
  return all;
}

/// Queries [first, first + count) for a batch size, somewhere.
std::size_t first_of(std::size_t count, Random& random) { return random.below(kQueries - count + 1); }

}  // namespace

TEST(every_mask_and_k_with_batches_and_threads_drawn) {
  Random random(check::seed(), "masks");
  for (const kernels::Metric& metric : kernels::kMetrics) {
    for (const std::size_t n : {1U, 64U, 1300U}) {
      const World world(n, 1 + random.below(24), metric, kQueries, random);
      for (const Bitmask& allow : masks(world.rows(), random)) {
        const auto ranked = rank_all(world, allow);
        for_each_set([&] {
          for (const std::size_t k : {std::size_t{0}, std::size_t{1}, std::size_t{5}, n, n + 5}) {
            for (std::size_t again = check::times(2, 20); again > 0; --again) {
              const std::size_t batch = kBatches[random.below(7)];
              const auto workers = static_cast<unsigned>(1 + random.below(4));
              world.compare(ranked, first_of(batch, random), batch, k, allow, workers, random.below(3));
            }
          }
        });
      }
    }
  }
}

TEST(every_batch_size_and_thread_count) {
  Random random(check::seed(), "batches");
  for (const kernels::Metric& metric : kernels::kMetrics) {
    const World world(700, 17, metric, kQueries, random);
    const Bitmask allow = masks(world.rows(), random)[3];
    const auto ranked = rank_all(world, allow);
    for_each_set([&] {
      for (const std::size_t batch : kBatches) {
        for (unsigned workers = 1; workers <= 4; ++workers) {
          world.compare(ranked, first_of(batch, random), batch, 7, allow, workers, 0);
        }
      }
    });
  }
}

TEST(words_from_empty_to_full) {  // both sides of the choice between a block and gathered rows
  Random random(check::seed(), "density");
  const World world(1500, 9, kernels::kMetrics[2], kQueries, random);
  for (std::size_t set = 0; set <= 64; ++set) {
    std::vector<std::int64_t> numbers;
    for (std::size_t word = 0; word * 64 < world.rows(); ++word) {
      for (std::size_t i = 0; i < set; ++i) {
        const std::size_t row = word * 64 + (i * 37 + word) % 64;
        if (row < world.rows()) numbers.push_back(static_cast<std::int64_t>(row));
      }
    }
    const Bitmask allow = Bitmask::from_rows(world.rows(), numbers);
    const std::size_t query = random.below(kQueries);
    std::vector<std::vector<reference::Scored>> ranked(kQueries);
    ranked[query] = world.ranked(query, allow);
    world.compare(ranked, query, 1, 10, allow, 1, 0);
  }
}

TEST(top_k_is_a_prefix_of_top_k_plus_one) {
  Random random(check::seed(), "prefix");
  const World world(400, 3, kernels::kMetrics[0], kQueries, random);
  const Bitmask allow = Bitmask::ones(world.rows());
  check::Answer before = check::search_on(*world.store.snapshot(), world.given.data(), 1, 0, allow, 1);
  for (std::size_t k = 1; k < 60; ++k) {
    check::Answer now = check::search_on(*world.store.snapshot(), world.given.data(), 1, k, allow, 1);
    CHECK_EQ(now.width, k);
    CHECK(std::equal(before.ids.begin(), before.ids.end(), now.ids.begin()));
    before = std::move(now);
  }
}

TEST(insertion_order_and_splitting_into_calls_do_not_matter) {
  Random random(check::seed(), "insertion");
  for (const kernels::Metric& metric : kernels::kMetrics) {
    constexpr std::size_t kDim = 11;
    constexpr std::size_t kRows = 900;
    const check::Rows rows = check::random_rows(kRows, kDim, 5000, random, true);
    const std::vector<float> query = check::random_rows(1, kDim, 1, random).vectors;
    std::vector<check::Answer> answers;
    for (const std::size_t step : {kRows, std::size_t{1}, std::size_t{64}, std::size_t{257}}) {
      std::vector<std::size_t> order(kRows);
      std::iota(order.begin(), order.end(), 0U);
      random.shuffle(order);
      index::RowStore store(kDim, metric);
      Stop stop;
      for (std::size_t at = 0; at < kRows; at += step) {
        check::Rows part;
        for (std::size_t i = at; i < std::min(kRows, at + step); ++i) {
          const auto begin = rows.vectors.begin() + static_cast<std::ptrdiff_t>(order[i] * kDim);
          part.ids.push_back(rows.ids[order[i]]);
          part.rules.push_back(0);
          part.vectors.insert(part.vectors.end(), begin, begin + static_cast<std::ptrdiff_t>(kDim));
        }
        store.add(part.batch(), stop);
      }
      answers.push_back(check::search_on(*store.snapshot(), query.data(), 1, 50, Bitmask::ones(kRows), 2));
      CHECK(answers.back().ids == answers[0].ids);
      CHECK(answers.back().scores == answers[0].scores);
    }
  }
}

TEST(rows_the_mask_forbids_change_nothing) {  // P2
  Random random(check::seed(), "hidden");
  for (const kernels::Metric& metric : kernels::kMetrics) {
    World world(500, 6, metric, kQueries, random);
    const Bitmask allow = masks(world.rows(), random)[3];
    const auto ranked = rank_all(world, allow);
    Stop stop;
    for (int i = 0; i < 3; ++i) {
      std::vector<std::int64_t> ids(400);
      std::iota(ids.begin(), ids.end(), 100000 + 400 * i);
      check::Rows hidden = check::random_rows(400, 6, 400, random, true);
      hidden.ids = ids;
      world.store.add(hidden.batch(), stop);
      // `world` still describes the rows from before; the mask does not know the new ones.
      world.compare(ranked, 0, 20, 10, allow, 3, 0);
      world.store.remove(std::span(ids).first(100));
      world.compare(ranked, 20, 5, 10, allow, 1, 0);
    }
  }
}

TEST(a_large_k_with_fewer_queries_than_workers) {
  // Selections of 2^18 hits: two queries do not share a tile, three workers share each query.
  Random random(check::seed(), "large k");
  constexpr std::size_t kRows = 262144 + 300;
  check::Rows rows;
  for (std::size_t i = 0; i < kRows; ++i) rows.vectors.push_back(random.whole(1000));
  rows.ids.resize(kRows);
  std::iota(rows.ids.begin(), rows.ids.end(), 7);
  rows.rules.resize(kRows);
  index::RowStore store(1, kernels::kMetrics[0]);
  Stop stop;
  store.add(rows.batch(), stop);
  std::vector<reference::Scored> all;
  for (std::size_t i = 0; i < kRows; ++i) all.push_back({rows.vectors[i], rows.ids[i]});
  all = reference::ranked(std::move(all));
  const float queries[] = {1, 1};
  for (const unsigned workers : {1U, 2U, 3U}) {
    const auto answer = check::search_on(*store.snapshot(), queries, 2, kRows, Bitmask::ones(kRows), workers);
    CHECK_EQ(answer.width, kRows);
    for (std::size_t i = 0; i < kRows; ++i) {
      CHECK(answer.ids[i] == all[i].id && answer.ids[kRows + i] == all[i].id && answer.scores[i] == all[i].score);
    }
  }
}

TEST(the_plan_says_what_comes_back_and_bounds_the_workers) {
  Random random(check::seed(), "plan");
  const World world(2000, 24, kernels::kMetrics[0], kQueries, random);
  const auto snapshot = world.store.snapshot();
  const Bitmask all = Bitmask::ones(world.rows());
  const auto workers = [&](std::size_t count, unsigned threads, const Bitmask& allow) {
    const Bitmask* const mask[] = {&allow};
    return index::plan(*snapshot, {world.given.data(), count, 10, mask, {}, threads}).workers;
  };
  CHECK_EQ(workers(1, 8, all), 1U);  // far too little work to wake anyone
  CHECK_EQ(workers(kQueries, 1, all), 1U);
  CHECK_EQ(workers(kQueries, 2, all), 2U);
  CHECK_EQ(workers(kQueries, 0, all), 1U);
  CHECK_EQ(workers(kQueries, 8, Bitmask(world.rows(), {})), 1U);
  CHECK_EQ(workers(0, 8, all), 1U);
  const Bitmask* const mask[] = {&all};
  const index::Plan planned = index::plan(*snapshot, {world.given.data(), 1, 10, mask, {}, 1});
  CHECK_EQ(planned.masks.size(), 1U);
  CHECK_EQ(planned.masks[0].permitted, snapshot->live_rows());
  CHECK_EQ(planned.masks[0].returned, 10U);
  CHECK(!planned.masks[0].prescan);  // rows of so few components have no codes
}

TEST(queries_are_checked_before_anything_is_written) {
  Random random(check::seed(), "queries");
  for (const kernels::Metric& metric : kernels::kMetrics) {
    World world(100, 8, metric, kQueries, random);
    world.given[3 * 8 + 5] = std::nanf("");
    const auto run = [&] {
      (void)check::search_on(*world.store.snapshot(), world.given.data(), 5, 3, Bitmask::ones(world.rows()), 2);
    };
    CHECK_THROWS(run(), InvalidInput, "queries: row 3 holds nan at position 5");
    std::fill_n(world.given.begin() + 3 * 8, 8, metric.unit_rows ? 0.0F : 1e30F);
    CHECK_THROWS(run(), InvalidInput, "queries: row 3");
  }
}

TEST(a_stop_ends_a_search) {
  Random random(check::seed(), "stop");
  const World world(3000, 8, kernels::kMetrics[0], kQueries, random);
  const Bitmask all = Bitmask::ones(world.rows());
  const Bitmask* const mask[] = {&all};
  for (const std::size_t count : {std::size_t{1}, std::size_t{20}, kQueries}) {
    for (const unsigned workers : {1U, 3U}) {
      const index::Query query{world.given.data(), count, 5, mask, {}, workers};
      index::Plan planned = index::plan(*world.store.snapshot(), query);
      planned.workers = workers;
      const index::Sink nowhere = [](std::size_t, const std::vector<search::Hit>&) {};
      Stop stop([] { return true; });
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
      CHECK(stop.requested());
      CHECK_THROWS(index::search(*world.store.snapshot(), query, planned, nowhere, stop), Cancelled, "interrupted");
    }
  }
  world.compare(rank_all(world, all), 0, 20, 5, all, 3, 0);  // the pool is fit for the next call
}
