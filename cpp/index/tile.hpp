// SPDX-License-Identifier: Apache-2.0
// A few queries that look through the same rows together, and how workers share those rows.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/stop.hpp"
#include "base/thread_pool.hpp"
#include "index/range_scan.hpp"
#include "index/snapshot.hpp"
#include "search/bitmask.hpp"
#include "search/top_k.hpp"

namespace evidex::index {

/// Looks at the stop flag now and then: looking costs a reading of the clock, so little work does not pay for one.
class Pace {
 public:
  explicit Pace(Stop& stop) : stop_(stop) {}

  /// Before work of about so many multiply-adds.
  void step(std::size_t work) {
    if (done_ >= kLeastWork) {
      stop_.throw_if_requested();
      done_ = 0;
    }
    done_ += work;
  }

 private:
  static constexpr std::size_t kLeastWork = std::size_t{1} << 18;

  Stop& stop_;
  std::size_t done_ = kLeastWork;
};

struct Tile {
  const Snapshot& snapshot;
  const kernels::Table& table;
  const search::Bitmask& allow;
  const float* queries;  ///< [count, dim], prepared
  std::size_t count;
  std::size_t permitted;  ///< rows
  std::size_t keep;       ///< hits per query
  float min_score;        ///< hits reach it; minus infinity where none was given
  bool grouped;
  Stop& stop;

  std::span<const float> query(std::size_t q) const { return {queries + q * snapshot.dim, snapshot.dim}; }

  std::vector<search::TopK> selections() const {
    return std::vector<search::TopK>(count, search::TopK(keep, min_score, grouped));
  }

  /// Calls scan.word(index, bits) for the permitted rows of mask words [begin, end).
  template <class Scan>
  void for_each_word(std::size_t begin, std::size_t end, Scan&& scan, Pace& pace) const {
    const std::size_t work_per_word = 8 * count * snapshot.dim;  // at eight rows each
    snapshot.for_each_permitted(allow, begin, end, [&](std::size_t i, std::uint64_t bits) {
      pace.step(work_per_word);
      scan.word(i, bits);
    });
  }
  template <class Scan>
  void for_each_word(std::size_t begin, std::size_t end, Scan&& scan) const {
    Pace pace(stop);
    for_each_word(begin, end, scan, pace);
  }
};

/// Hands out ranges of mask words.
class Ranges {
 public:
  Ranges(std::size_t begin, std::size_t end, unsigned workers) : next_(begin), end_(end) {
    // Several per worker, so that one with fewer permitted rows takes another range instead of waiting.
    constexpr std::size_t kRangesPerWorker = 4;
    const std::size_t ranges = workers == 1 ? 1 : workers * kRangesPerWorker;
    length_ = std::max<std::size_t>(1, (end - begin) / ranges + ((end - begin) % ranges != 0));
  }

  /// Calls f(begin, end) for one range after the other until none is left.
  template <class F>
  void drain(F&& f) {
    for (;;) {
      const std::size_t begin = next_.fetch_add(length_, std::memory_order_relaxed);
      if (begin >= end_) return;
      f(begin, std::min(begin + length_, end_));
    }
  }

 private:
  std::atomic<std::size_t> next_;
  std::size_t end_;
  std::size_t length_;
};

/// Runs work(ranges, selections) on each worker, with selections of its own from `fresh`, and merges them.
template <class Fresh, class Work>
std::invoke_result_t<Fresh> select_from(std::size_t begin, std::size_t end, unsigned workers, Fresh fresh, Work work) {
  std::vector<std::invoke_result_t<Fresh>> selections(workers);
  Ranges ranges(begin, end, workers);
  run_workers(workers, [&](unsigned worker) {
    selections[worker] = fresh();
    work(ranges, std::span(selections[worker]));
  });
  std::invoke_result_t<Fresh> merged = std::move(selections[0]);
  for (unsigned worker = 1; worker < workers; ++worker) {
    for (std::size_t q = 0; q < selections[worker].size(); ++q) merged[q].merge(selections[worker][q]);
  }
  return merged;
}

/// The plain way: scores all permitted rows.
inline std::vector<search::TopK> scan_rows(const Tile& tile, unsigned workers) {
  return select_from(
      0, tile.snapshot.words(), workers, [&] { return tile.selections(); },
      [&](Ranges& ranges, std::span<search::TopK> tops) {
        RangeScan scan(tile.snapshot, tile.table, tile.queries, tops);
        ranges.drain([&](std::size_t begin, std::size_t end) { tile.for_each_word(begin, end, scan); });
        scan.finish();
      });
}

}  // namespace evidex::index
