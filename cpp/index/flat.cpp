// SPDX-License-Identifier: Apache-2.0
#include "index/flat.hpp"

#include <algorithm>
#include <atomic>
#include <span>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "base/float_state.hpp"
#include "base/thread_pool.hpp"
#include "index/prepare.hpp"
#include "index/range_scan.hpp"
#include "kernels/dispatch.hpp"

namespace evidex::index {
namespace {

using search::Hit;
using search::TopK;

// The more queries pass over a block of 64 rows, the less its way from memory costs; but they must
// stay in the second-level cache beside it (measured: benchmarks/NOTES.md).
constexpr std::size_t kMostQueriesPerTile = 128;
constexpr std::size_t kMostQueryBytes = std::size_t{256} << 10;
// Selections of one worker's tile, together; beyond it a tile holds fewer queries.
constexpr std::size_t kMostSelectionBytes = std::size_t{16} << 20;
// Waking a worker costs tens of microseconds: each must have at least this many multiply-adds.
constexpr std::size_t kLeastWorkPerWorker = std::size_t{1} << 20;
// Ranges per worker, so that one with fewer permitted rows takes another range instead of waiting.
constexpr std::size_t kRangesPerWorker = 4;
// Mask words (of 64 rows) between two looks at the stop flag.
constexpr std::size_t kWordsPerCheck = 16;

void scan_words(const Snapshot& snapshot, const search::Bitmask& allow, std::size_t begin, std::size_t end,
                RangeScan& scan, Stop& stop) {
  for (std::size_t at = begin; at < end; at += kWordsPerCheck) {
    stop.throw_if_requested();
    snapshot.for_each_permitted(allow, at, std::min(at + kWordsPerCheck, end),
                                [&](std::size_t i, std::uint64_t bits) { scan.word(i, bits); });
  }
  scan.finish();
}

std::size_t queries_per_tile(std::size_t dim, std::size_t hits_per_query) {
  const std::size_t by_selections = kMostSelectionBytes / ((2 * hits_per_query + 1) * sizeof(Hit));
  const std::size_t by_queries = kMostQueryBytes / (dim * sizeof(float));
  return std::clamp<std::size_t>(std::min(by_selections, by_queries), 1, kMostQueriesPerTile);
}

/// What the workers of one call share.
struct Call {
  const Snapshot& snapshot;
  const Query& query;
  const Plan& planned;
  const Sink& sink;
  Stop& stop;
  const kernels::Table& table;
  const float* prepared;

  std::vector<TopK> selections(std::size_t n) const {
    std::vector<TopK> tops;
    tops.reserve(n);
    while (tops.size() < n) tops.emplace_back(planned.returned, query.min_score);
    return tops;
  }
  RangeScan scan(std::size_t first_query, std::span<TopK> tops) const {
    return RangeScan(snapshot, table, prepared + first_query * snapshot.dim, tops);
  }
};

/// One tile of queries, the rows split into ranges: each worker selects for itself, then all merge.
void search_by_rows(const Call& call, std::size_t first_query, std::size_t n) {
  const std::size_t words = call.snapshot.words();
  const unsigned workers = call.planned.workers;
  const std::size_t ranges = workers == 1 ? 1 : workers * kRangesPerWorker;
  const std::size_t length = std::max<std::size_t>(1, words / ranges + (words % ranges != 0));
  std::vector<std::vector<TopK>> selections(workers);
  std::atomic<std::size_t> next{0};
  run_workers(workers, [&](unsigned worker) {
    std::vector<TopK>& own = selections[worker] = call.selections(n);
    RangeScan scan = call.scan(first_query, own);
    for (;;) {
      const std::size_t begin = next.fetch_add(length, std::memory_order_relaxed);
      if (begin >= words) break;
      scan_words(call.snapshot, call.query.allow, begin, std::min(begin + length, words), scan, call.stop);
    }
  });
  for (std::size_t q = 0; q < n; ++q) {
    TopK& best = selections[0][q];
    for (unsigned worker = 1; worker < workers; ++worker) {
      if (!selections[worker].empty()) best.merge(selections[worker][q]);
    }
    call.sink(first_query + q, best.sorted());
  }
}

/// Many queries: workers take tiles of them, each over all rows.
void search_by_tiles(const Call& call, std::size_t tile) {
  std::atomic<std::size_t> next{0};
  run_workers(call.planned.workers, [&](unsigned) {
    for (;;) {
      const std::size_t first = next.fetch_add(tile, std::memory_order_relaxed);
      if (first >= call.query.count) break;
      std::vector<TopK> tops = call.selections(std::min(tile, call.query.count - first));
      RangeScan scan = call.scan(first, tops);
      scan_words(call.snapshot, call.query.allow, 0, call.snapshot.words(), scan, call.stop);
      for (std::size_t q = 0; q < tops.size(); ++q) call.sink(first + q, tops[q].sorted());
    }
  });
}

}  // namespace

Plan plan(const Snapshot& snapshot, const Query& query) {
  Plan planned;
  planned.permitted = snapshot.count_permitted(query.allow);
  planned.returned = std::min(query.k, planned.permitted);
  const double work =
      static_cast<double>(planned.permitted) * static_cast<double>(query.count) * static_cast<double>(snapshot.dim);
  const double useful = std::max(1.0, work / static_cast<double>(kLeastWorkPerWorker));
  planned.workers = useful < query.threads ? static_cast<unsigned>(useful) : std::max(1U, query.threads);
  return planned;
}

void search(const Snapshot& snapshot, const Query& query, const Plan& planned, const Sink& sink, Stop& stop) {
  const FloatState state;
  AlignedBuffer<float> prepared(query.count * snapshot.dim);
  prepare(snapshot.metric, snapshot.dim, query.vectors, 0, query.count, prepared.data(), "queries");
  const Call call{snapshot, query, planned, sink, stop, kernels::active(), prepared.data()};
  const std::size_t most = queries_per_tile(snapshot.dim, planned.returned);
  const std::size_t workers = planned.workers;
  if (query.count <= most && workers > 1) {
    search_by_rows(call, 0, query.count);
  } else if (query.count >= workers) {
    const std::size_t even = query.count / workers + (query.count % workers != 0);
    search_by_tiles(call, std::max<std::size_t>(1, std::min(most, even)));
  } else {  // fewer queries than workers, yet too large together for one tile
    for (std::size_t q = 0; q < query.count; ++q) search_by_rows(call, q, 1);
  }
}

}  // namespace evidex::index
