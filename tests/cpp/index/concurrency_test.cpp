// SPDX-License-Identifier: Apache-2.0
// One writer and several readers at once. Each reader's results equal the brute force of the snapshot
// it pinned, and every snapshot shows whole batches only.
//
// P9. Seen red with a snapshot published before its rows are copied in, and under the thread sanitizer
// with the lock left out of RowStore::snapshot().
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"
#include "index/world.hpp"

namespace {

using namespace evidex;
using check::Random;
using search::Bitmask;

constexpr std::size_t kDim = 4;
constexpr std::size_t kFamily = 700;  // ids 0..699, always written together

/// Every member carries the version that wrote it.
check::Rows family(float version) {
  check::Rows rows;
  for (std::size_t i = 0; i < kFamily; ++i) {
    rows.ids.push_back(static_cast<std::int64_t>(i));
    rows.rules.push_back(0);
    for (const float v : {version, static_cast<float>(i % 5), 1.0F, -version}) rows.vectors.push_back(v);
  }
  return rows;
}

std::vector<reference::Scored> brute_force(const index::Snapshot& snapshot, const float* query, const Bitmask& allow) {
  std::vector<reference::Scored> all;
  for (std::size_t r = 0; r < snapshot.rows; ++r) {
    if (!allow.test(r) || check::is_dead(snapshot, r)) continue;
    const auto metric = static_cast<std::size_t>(snapshot.metric.id);
    const std::vector<float> row = check::vector_of(snapshot, r);
    all.push_back({reference::kQuick[metric](query, row.data(), snapshot.dim), snapshot.id(r)});
  }
  return reference::ranked(std::move(all));
}

void check_whole(const index::Snapshot& snapshot) {
  std::size_t members = 0;
  float version = -1;
  for (std::size_t r = 0; r < snapshot.rows; ++r) {
    if (check::is_dead(snapshot, r) || snapshot.id(r) >= static_cast<std::int64_t>(kFamily)) continue;
    ++members;
    const float found = check::vector_of(snapshot, r)[0];
    if (version < 0) version = found;
    CHECK_BITS(found, version);
  }
  CHECK(members == kFamily);
}

void read(const index::RowStore& store, unsigned number, const std::atomic<bool>& done,
          std::atomic<std::size_t>& reads) {
  Random random(check::seed(), "readers", number);
  std::uint64_t generation = 0;
  do {
    const auto snapshot = store.snapshot();
    CHECK(snapshot->generation >= generation);
    generation = snapshot->generation;
    check_whole(*snapshot);
    const float query[kDim] = {random.whole(3), random.whole(3), random.whole(3), random.whole(3)};
    const Bitmask allow = random.one_in(2) ? snapshot->live() : Bitmask::ones(random.below(snapshot->rows + 200));
    const auto workers = static_cast<unsigned>(1 + random.below(3));
    const check::Answer answer = check::search_on(*snapshot, query, 1, 1 + random.below(40), allow, workers);
    const auto expected = brute_force(*snapshot, query, allow);
    CHECK(answer.only().permitted == expected.size());
    for (std::size_t i = 0; i < answer.width; ++i) {
      CHECK_EQ(answer.ids[i], expected[i].id);
      CHECK_BITS(answer.scores[i], expected[i].score);
    }
    const std::int64_t wanted[] = {0, 350, 699, 1 << 20};
    const index::Found found = store.find(wanted);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK_EQ(found.snapshot->id(static_cast<std::size_t>(found.rows[i])), wanted[i]);
    }
    CHECK_EQ(found.rows[3], index::IdTable::kAbsent);
    ++reads;
  } while (!done);
}

/// Never far ahead of the readers: two reads for each round, on average.
void write(index::RowStore& store, std::size_t rounds, const std::atomic<std::size_t>& reads) {
  Random random(check::seed(), "writer");
  Stop stop;
  std::vector<std::int64_t> others;
  for (std::size_t round = 1; round <= rounds; ++round) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (reads < 2 * round && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    if (round % 15 == 0) {
      // Held up between blocks of rows, so that reads certainly fall into the middle of this write.
      Stop slow([&] {
        const std::size_t before = reads;
        std::this_thread::sleep_for(std::chrono::milliseconds(21));
        while (reads < before + 2 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
        return false;
      });
      std::this_thread::sleep_for(std::chrono::milliseconds(21));
      store.upsert(family(static_cast<float>(round)).batch(), slow);
    } else {
      store.upsert(family(static_cast<float>(round)).batch(), stop);
    }
    check::Rows more = check::random_rows(random.below(40), kDim, 1000, random);
    const std::int64_t first = store.add_automatic(more.batch(), stop);
    for (std::size_t i = 0; i < more.ids.size(); ++i) others.push_back(first + static_cast<std::int64_t>(i));
    if (others.size() > 300) {
      store.remove(std::span(others).first(150));
      others.erase(others.begin(), others.begin() + 150);
    }
  }
}

}  // namespace

TEST(readers_see_whole_batches_and_exact_results_while_a_writer_writes) {
  for (const std::size_t metric : {std::size_t{0}, std::size_t{2}}) {
    index::RowStore store(kDim, kernels::kMetrics[metric]);
    Stop stop;
    store.upsert(family(0).batch(), stop);
    std::atomic<bool> done{false};
    std::atomic<std::size_t> reads{0};
    std::vector<std::string> problems(3);
    std::vector<std::thread> readers;
    for (unsigned t = 0; t < 3; ++t) {
      readers.emplace_back([&, t] {
        try {
          read(store, t, done, reads);
        } catch (const std::exception& error) {
          problems[t] = error.what();
          reads += std::size_t{1} << 20;  // the writer need not wait for who has gone
        }
      });
    }
    write(store, check::times(60, 300), reads);
    done = true;
    for (std::thread& reader : readers) reader.join();
    for (const std::string& problem : problems) CHECK_EQ(problem, "");
    CHECK(reads >= 120);
  }
}

TEST(writers_wait_for_each_other) {
  index::RowStore store(kDim, kernels::kMetrics[0]);
  constexpr std::size_t kWriters = 4;
  constexpr std::size_t kCalls = 30;
  std::vector<std::vector<std::int64_t>> firsts(kWriters);
  std::vector<std::thread> writers;
  for (std::size_t t = 0; t < kWriters; ++t) {
    writers.emplace_back([&, t] {
      Random random(check::seed(), "writers", t);
      Stop stop;
      for (std::size_t i = 0; i < kCalls; ++i) {
        const check::Rows rows = check::random_rows(7, kDim, 100, random);
        firsts[t].push_back(store.add_automatic(rows.batch(), stop));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  std::vector<bool> used(kWriters * kCalls);
  for (const auto& own : firsts) {
    for (std::size_t i = 0; i < own.size(); ++i) {
      CHECK_EQ(own[i] % 7, 0);
      CHECK(i == 0 || own[i] > own[i - 1]);
      const auto at = static_cast<std::size_t>(own[i] / 7);
      CHECK(!used[at]);
      used[at] = true;
    }
  }
  CHECK_EQ(store.snapshot()->rows, kWriters * kCalls * 7);
  CHECK_EQ(store.snapshot()->generation, kWriters * kCalls);
}
