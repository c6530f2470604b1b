// SPDX-License-Identifier: Apache-2.0
// Readers search, ask for ids and compile grants while a writer attaches segments, removes rows, puts them back and
// sets rules. Each answer is that of the snapshot it came from.
//
// P9, P2. Seen red under the thread sanitizer with ids learnt under a shared lock, with ids looked up by a writer
// without one, and with rows marked in place; without it, with automatic ids counted before those of attached rows were
// learnt.
#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"
#include "index/attaching.hpp"

namespace {

using namespace evidex;
using check::Random;
using check::Rows;
using index::RowStore;
using search::Bitmask;

constexpr std::size_t kDim = 32;
constexpr std::int64_t kSegmentIds = 10000;  // of each segment, from a multiple of this on
constexpr std::int64_t kDocuments = 20;      // of each segment, numbered likewise

/// Segment `number`: each document has the same number of rows, and is removed, put back and given rules whole.
Rows documents(std::int64_t number, std::size_t n, Random& random) {
  Rows rows = check::random_rows(n, kDim, static_cast<std::int64_t>(n), random);
  for (std::size_t i = 0; i < n; ++i) {
    rows.ids[i] += number * kSegmentIds;
    rows.groups.push_back(number * kSegmentIds + static_cast<std::int64_t>(i * kDocuments / n));
  }
  rows.rules.assign(n, 0);
  return rows;
}

std::vector<reference::Scored> brute_force(const index::Snapshot& snapshot, const float* query) {
  std::vector<reference::Scored> all;
  const auto metric = static_cast<std::size_t>(snapshot.metric.id);
  for (std::size_t row = 0; row < snapshot.rows; ++row) {
    if (snapshot.is_dead(row)) continue;
    const std::vector<float> vector = check::vector_of(snapshot, row);
    all.push_back({reference::kQuick[metric](query, vector.data(), kDim), snapshot.id(row)});
  }
  return reference::ranked(std::move(all));
}

/// Documents are there whole or not at all, and under one rule or another.
void check_documents(const index::Snapshot& snapshot) {
  std::map<std::int64_t, std::size_t> live;
  std::map<std::int64_t, std::size_t> granted;
  const Bitmask odd = snapshot.grant(std::vector<std::uint8_t>{0, 1, 0, 1});
  for (std::size_t row = 0; row < snapshot.rows; ++row) {
    if (snapshot.is_dead(row)) continue;
    ++live[snapshot.group(row)];
    granted[snapshot.group(row)] += odd.test(row) ? 1 : 0;
  }
  for (const auto& [group, rows] : live) {
    const std::size_t of_segment = rows * static_cast<std::size_t>(kDocuments);
    CHECK(of_segment == 60 || of_segment == 1500);
    CHECK(granted[group] == 0 || granted[group] == rows);
  }
}

void read(const RowStore& store, unsigned number, const std::atomic<bool>& done, std::atomic<std::size_t>& reads) {
  Random random(check::seed(), "attach readers", number);
  do {
    const auto snapshot = store.snapshot();
    check_documents(*snapshot);
    const std::vector<float> query = check::random_rows(1, kDim, 1, random).vectors;
    const Bitmask all = Bitmask::ones(snapshot->rows + 50);
    const Bitmask* const masks[] = {&all};
    const auto threads = static_cast<unsigned>(1 + random.below(2));
    const auto hits = check::outcome(*snapshot, {query.data(), 1, 25, masks, {}, threads}).hits[0];
    const auto expected = brute_force(*snapshot, query.data());
    CHECK_EQ(hits.size(), std::min<std::size_t>(25, expected.size()));
    std::vector<std::int64_t> ids;
    std::vector<std::int64_t> rows;
    for (std::size_t i = 0; i < hits.size(); ++i) {
      CHECK_EQ(hits[i].id, expected[i].id);
      CHECK_BITS(hits[i].score, expected[i].score);
      ids.push_back(hits[i].id);
      rows.push_back(static_cast<std::int64_t>(hits[i].row));
    }
    CHECK(store.rows_in(*snapshot, ids) == rows);
    CHECK(store.find(ids).rows == rows);
    ++reads;
  } while (!done);
}

/// Runs body(0), body(1), ... on threads while this one writes, after which `done` is set. Nobody may fail.
template <class Body, class Write>
void together(unsigned threads, Body body, Write write, std::atomic<bool>& done) {
  std::vector<std::string> problems(threads + 1);
  const auto guarded = [&](std::size_t who, const auto& call) {
    try {
      call();
    } catch (const std::exception& error) {
      problems[who] = error.what();
    }
  };
  std::vector<std::thread> all;
  for (unsigned t = 0; t < threads; ++t) all.emplace_back([&, t] { guarded(t, [&] { body(t); }); });
  guarded(threads, write);
  done = true;
  for (std::thread& thread : all) thread.join();
  for (const std::string& problem : problems) CHECK_EQ(problem, "");
}

}  // namespace

TEST(readers_see_whole_documents_while_a_writer_attaches_marks_and_sets_rules) {
  RowStore store(kDim, kernels::kMetrics[0]);
  std::atomic<bool> done{false};
  std::atomic<std::size_t> reads{0};
  const auto write = [&] {
    Random random(check::seed(), "attach writer");
    Stop stop;
    std::map<std::int64_t, index::Range> where;  // of documents
    for (std::int64_t round = 0; round < static_cast<std::int64_t>(check::times(40, 200)); ++round) {
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
      while (reads < static_cast<std::size_t>(round) && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::yield();
      }
      if (round % 4 == 0 && round < 60) {
        const std::size_t n = random.one_in(2) ? 1500 : 60;
        const Rows rows = documents(round, n, random);
        const std::size_t first = check::attach(store, check::encoded(*store.snapshot(), rows), rows);
        const std::size_t each = n / static_cast<std::size_t>(kDocuments);
        for (std::size_t d = 0; d < static_cast<std::size_t>(kDocuments); ++d) {
          where[rows.groups[d * each]] = {first + d * each, each};
        }
        continue;
      }
      std::vector<index::Range> ranges;
      std::vector<std::int64_t> groups = {-5, 123456789};  // nobody's
      for (const auto& [group, range] : where) {
        if (random.one_in(5)) ranges.push_back(range);
        if (random.one_in(5)) groups.push_back(group);
      }
      store.mark(ranges, random.one_in(2));
      store.set_known_rules(groups, std::vector<std::uint32_t>(groups.size(), static_cast<std::uint32_t>(round % 4)));
    }
  };
  together(3, [&](unsigned t) { read(store, t, done, reads); }, write, done);
  CHECK(reads >= 10);
  CHECK(store.snapshot()->can_prescan());
}

TEST(ids_are_learnt_by_several_threads_at_once) {
  RowStore store(kDim, kernels::kMetrics[0]);
  Random random(check::seed(), "learners");
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> rows;
  std::atomic<std::size_t> ready{0};
  std::atomic<bool> done{false};
  std::vector<Rows> segments;
  for (std::int64_t number = 0; number < 12; ++number) segments.push_back(documents(number, 1500, random));
  for (const Rows& segment : segments) ids.insert(ids.end(), segment.ids.begin(), segment.ids.end());
  const auto learn = [&](unsigned t) {
    // What was attached before is known, whoever learns it; what comes later may be.
    bool last = false;
    while (!last) {
      last = done;
      const std::size_t n = ready * 1500;
      const auto snapshot = store.snapshot();
      const std::vector<std::int64_t> found =
          t % 2 == 0 ? store.rows_in(*snapshot, std::span(ids).first(n)) : store.find(std::span(ids).first(n)).rows;
      for (std::size_t i = 0; i < n; ++i) CHECK_EQ(found[i], static_cast<std::int64_t>(i / 1500 * 2048 + i % 1500));
    }
  };
  const auto attach_all = [&] {
    for (const Rows& segment : segments) {
      (void)check::attach(store, check::encoded(*store.snapshot(), segment), segment);
      ++ready;
    }
  };
  together(4, learn, attach_all, done);
}

TEST(automatic_ids_are_new_while_others_learn_those_of_segments) {
  RowStore store(kDim, kernels::kMetrics[0]);
  Random random(check::seed(), "automatic");
  std::atomic<bool> done{false};
  const auto learn = [&](unsigned) {
    const std::vector<std::int64_t> wanted = {0, 10001, 20002};
    while (!done) (void)store.find(wanted);
  };
  const auto write = [&] {
    Stop stop;
    std::int64_t next = 0;
    for (std::int64_t number = 1; number <= 10; ++number) {
      const Rows segment = documents(number, 1500, random);
      (void)check::attach(store, check::encoded(*store.snapshot(), segment), segment);
      for (const std::int64_t id : segment.ids) next = std::max(next, id + 1);
      CHECK_EQ(store.add_automatic(check::random_rows(5, kDim, 10, random).batch(), stop), next);
      next += 5;
    }
  };
  together(2, learn, write, done);
}
