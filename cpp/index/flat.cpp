// SPDX-License-Identifier: Apache-2.0
#include "index/flat.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "base/error.hpp"
#include "base/float_state.hpp"
#include "base/thread_pool.hpp"
#include "index/prepare.hpp"
#include "index/prescan.hpp"
#include "index/tile.hpp"
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
constexpr double kLeastWorkPerWorker = 1 << 20;
// What a row of codes costs beside a row of float32.
constexpr double kPrescanWork = 0.125;
constexpr double kLookupWork = 1.0 / 32;

/// Whether a mask's queries go by codes. Rows that are all scored are found exactly, whatever was asked for.
bool looks_up(const Snapshot& snapshot, const Query& query, const search::Bitmask& mask, const MaskPlan& planned) {
  const Approximate* how = query.approximate;
  if (how == nullptr || query.grouped || query.min_score > kNoScore || how->codes.layout != snapshot.layout)
    return false;
  if (how->codes.rows == 0 || planned.permitted <= how->candidates) return false;
  const std::size_t words = mask.used_words();
  return how->forced || how->costs.lookup(words, how->candidates) < how->costs.exact(planned.permitted, words);
}

std::size_t most_queries(const Snapshot& snapshot, std::size_t returned) {
  const std::size_t by_selections = kMostSelectionBytes / ((2 * returned + 1) * sizeof(Hit));
  const std::size_t by_queries = kMostQueryBytes / (snapshot.dim * sizeof(float));
  return std::clamp<std::size_t>(std::min(by_selections, by_queries), 1, kMostQueriesPerTile);
}

/// Queries [first, first + count) in the order of their masks.
struct Slice {
  std::size_t mask;
  std::size_t first;
  std::size_t count;
};

/// The queries in the order of their masks, prepared, and how they are taken together.
struct Call {
  const Snapshot& snapshot;
  const Query& query;
  const Plan& planned;
  const Sink& sink;
  Stop& stop;
  const kernels::Table& table;
  std::vector<std::size_t> order;
  AlignedBuffer<float> prepared;  // [count, dim]
  std::atomic<std::size_t> abandoned{0};

  std::size_t mask_of(std::size_t q) const { return query.mask_of.empty() ? 0 : query.mask_of[q]; }

  void prepare_queries() {
    order.resize(query.count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (!query.mask_of.empty()) {
      std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return query.mask_of[a] != query.mask_of[b] ? query.mask_of[a] < query.mask_of[b] : a < b;
      });
    }
    AlignedBuffer<float> given(query.count * snapshot.dim);
    prepare(snapshot.metric, snapshot.dim, query.vectors, 0, query.count, given.data(), "queries");
    if (query.mask_of.empty()) {
      prepared = std::move(given);
      return;
    }
    prepared = AlignedBuffer<float>(query.count * snapshot.dim);
    for (std::size_t i = 0; i < query.count; ++i) {
      std::copy_n(given.data() + order[i] * snapshot.dim, snapshot.dim, prepared.data() + i * snapshot.dim);
    }
  }

  /// At most `even` queries each, all of one mask.
  std::vector<Slice> slices(std::size_t even) const {
    std::vector<Slice> found;
    for (std::size_t i = 0; i < query.count; ++i) {
      const std::size_t mask = mask_of(order[i]);
      const bool grows = !found.empty() && found.back().mask == mask &&
                         found.back().count < std::min(even, most_queries(snapshot, selected(planned.masks[mask])));
      if (!grows) found.push_back({mask, i, 0});
      ++found.back().count;
    }
    return found;
  }

  /// Hits that are selected on the way, at most.
  std::size_t selected(const MaskPlan& mask) const {
    return mask.lookup ? std::max(mask.returned, query.approximate->candidates) : mask.returned;
  }

  Tile tile(const Slice& slice) const {
    const MaskPlan& mask = planned.masks[slice.mask];
    return {snapshot,
            table,
            *query.masks[slice.mask],
            prepared.data() + slice.first * snapshot.dim,
            slice.count,
            mask.permitted,
            mask.returned,
            query.min_score,
            query.grouped,
            stop};
  }

  void report(std::size_t first, std::vector<TopK> tops) const {
    for (std::size_t q = 0; q < tops.size(); ++q) sink(order[first + q], tops[q].sorted());
  }

  /// Codes first, a few queries at a time. Once they tell too little, they will for the rest of the slice too.
  void run(const Slice& slice, unsigned workers, BoundRoom& room) {
    if (planned.masks[slice.mask].returned == 0) return report(slice.first, tile(slice).selections());
    if (planned.masks[slice.mask].lookup) {
      auto tops = lookup(tile(slice), query.approximate->codes, query.approximate->candidates, workers);
      if (tops) return report(slice.first, std::move(*tops));
    }
    Slice rest = slice;
    while (rest.count > 0 && planned.masks[slice.mask].prescan) {
      const Slice few{slice.mask, rest.first,
                      std::min(rest.count, prescan_queries(snapshot, planned.masks[slice.mask].permitted))};
      std::optional<std::vector<TopK>> tops = prescan(tile(few), workers, room);
      if (!tops) {
        abandoned += rest.count;
        break;
      }
      report(few.first, std::move(*tops));
      rest.first += few.count;
      rest.count -= few.count;
    }
    if (rest.count > 0) report(rest.first, scan_rows(tile(rest), workers));
  }
};

}  // namespace

Plan plan(const Snapshot& snapshot, const Query& query) {
  Plan planned;
  for (const search::Bitmask* mask : query.masks) {
    MaskPlan of_mask;
    of_mask.permitted = snapshot.count_permitted(*mask);
    of_mask.returned = std::min(query.k, of_mask.permitted);
    of_mask.prescan = snapshot.can_prescan() &&
                      prescan_pays(snapshot.dim, of_mask.permitted, of_mask.returned, query.min_score > kNoScore);
    of_mask.lookup = looks_up(snapshot, query, *mask, of_mask);
    planned.masks.push_back(of_mask);
  }
  double work = 0;
  for (std::size_t q = 0; q < query.count; ++q) {
    const MaskPlan& of_mask = planned.masks[query.mask_of.empty() ? 0 : query.mask_of[q]];
    work += static_cast<double>(of_mask.permitted) *
            (of_mask.lookup ? kLookupWork : (of_mask.prescan ? kPrescanWork : 1.0));
  }
  const double useful = std::max(1.0, work * static_cast<double>(snapshot.dim) / kLeastWorkPerWorker);
  planned.workers = useful < query.threads ? static_cast<unsigned>(useful) : std::max(1U, query.threads);
  return planned;
}

Trace search(const Snapshot& snapshot, const Query& query, const Plan& planned, const Sink& sink, Stop& stop) {
  if (snapshot.dim == 0) throw InvalidInput("queries: these rows have no vectors to search");
  const FloatState state;
  Call call{snapshot, query, planned, sink, stop, kernels::active(), {}, {}};
  call.prepare_queries();
  const std::size_t workers = planned.workers;
  const std::vector<Slice> whole = call.slices(query.count);
  if (workers == 1 || whole.size() == 1 || query.count < workers) {
    BoundRoom room;
    for (const Slice& slice : whole) call.run(slice, planned.workers, room);
  } else {
    const std::vector<Slice> slices = call.slices(query.count / workers + (query.count % workers != 0));
    std::atomic<std::size_t> next{0};
    run_workers(planned.workers, [&](unsigned) {
      BoundRoom room;
      for (std::size_t i = next++; i < slices.size(); i = next++) call.run(slices[i], 1, room);
    });
  }
  return {call.abandoned};
}

}  // namespace evidex::index
