// SPDX-License-Identifier: Apache-2.0
// Readers search while codes start, grow and are written beside them: each answer is the brute force of the snapshot
// it came from.
//
// P9, P7. Seen red with facts of a neighbour and, under the thread sanitizer, with a snapshot published before its rows
// are coded.
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

constexpr std::size_t kDim = 32;

std::vector<reference::Scored> brute_force(const index::Snapshot& snapshot, const float* query) {
  std::vector<reference::Scored> all;
  std::vector<float> prepared(query, query + kDim);
  if (snapshot.metric.unit_rows) prepared = reference::unit<reference::LibraryFma>(std::move(prepared));
  const auto metric = static_cast<std::size_t>(snapshot.metric.id);
  for (std::size_t r = 0; r < snapshot.rows; ++r) {
    if (check::is_dead(snapshot, r)) continue;
    all.push_back(
        {reference::kQuick[metric](prepared.data(), check::vector_of(snapshot, r).data(), kDim), snapshot.id(r)});
  }
  return reference::ranked(std::move(all));
}

/// Returns how many of its searches went through codes.
std::size_t read(const index::RowStore& store, unsigned number, const std::atomic<bool>& done,
                 std::atomic<std::size_t>& reads) {
  Random random(check::seed(), "readers", number);
  std::size_t coded = 0;
  do {
    const auto snapshot = store.snapshot();
    const std::vector<float> query = check::random_rows(1, kDim, 1, random).vectors;
    const auto workers = static_cast<unsigned>(1 + random.below(2));
    const check::Answer answer =
        check::search_on(*snapshot, query.data(), 1, 1 + random.below(20), Bitmask::ones(snapshot->rows), workers);
    coded += answer.only().prescan ? 1 : 0;
    const auto expected = brute_force(*snapshot, query.data());
    CHECK_EQ(answer.only().permitted, expected.size());
    for (std::size_t i = 0; i < answer.width; ++i) {
      CHECK_EQ(answer.ids[i], expected[i].id);
      CHECK_BITS(answer.scores[i], expected[i].score);
    }
    ++reads;
  } while (!done);
  return coded;
}

/// A few rows at a time around the start of the codes; not far ahead of the readers.
void write(index::RowStore& store, const std::atomic<std::size_t>& reads) {
  Random random(check::seed(), "writer");
  Stop stop;
  store.add(check::random_rows(2030, kDim, 4000, random).batch(), stop);
  const std::size_t before = reads;
  for (std::size_t round = 1; round <= check::times(40, 400); ++round) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (reads < before + round && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    const check::Rows rows = check::random_rows(1 + random.below(30), kDim, 4000, random);
    store.upsert(rows.batch(), stop);
    if (round % 7 == 0) store.remove(std::span(rows.ids).first(1));
  }
}

}  // namespace

TEST(readers_see_exact_results_while_codes_start_and_grow) {
  for (const codecs::Codec codec : {codecs::Codec::float32, codecs::Codec::float16, codecs::Codec::int8}) {
    const check::Note note(codecs::facts(codec).name);
    index::RowStore store(kDim, kernels::kMetrics[static_cast<std::size_t>(codec)], {codec, true});
    std::atomic<bool> done{false};
    std::atomic<std::size_t> reads{0};
    std::atomic<std::size_t> coded{0};
    std::vector<std::string> problems(2);
    std::vector<std::thread> readers;
    for (unsigned t = 0; t < 2; ++t) {
      readers.emplace_back([&, t] {
        try {
          coded += read(store, t, done, reads);
        } catch (const std::exception& error) {
          problems[t] = error.what();
          reads += std::size_t{1} << 20;  // the writer need not wait for who has gone
        }
      });
    }
    write(store, reads);
    done = true;
    for (std::thread& reader : readers) reader.join();
    for (const std::string& problem : problems) CHECK_EQ(problem, "");
    CHECK(store.snapshot()->can_prescan());
    CHECK(coded > 0);
  }
}
