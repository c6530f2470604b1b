// SPDX-License-Identifier: Apache-2.0
// A store with dead rows and many equal scores, some queries, and every score by brute force.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "check.hpp"
#include "index/flat.hpp"
#include "index/model.hpp"
#include "random.hpp"
#include "reference.hpp"

namespace evidex::check {

struct Answer {
  std::vector<std::int64_t> ids;  // [count, width]
  std::vector<float> scores;
  std::size_t width = 0;
  index::Plan planned;
  index::Trace trace;

  const index::MaskPlan& only() const { return planned.masks.at(0); }
};

/// A search on exactly query.threads threads, however little there is to do.
inline Answer search_on(const index::Snapshot& snapshot, const index::Query& query, std::size_t extra_width = 0) {
  Answer answer;
  answer.planned = index::plan(snapshot, query);
  CHECK(answer.planned.workers >= 1 && answer.planned.workers <= query.threads);
  CHECK_EQ(answer.planned.masks.size(), query.masks.size());
  answer.planned.workers = query.threads;
  for (const index::MaskPlan& mask : answer.planned.masks) answer.width = std::max(answer.width, mask.returned);
  answer.width += extra_width;
  answer.ids.assign(query.count * answer.width, -77);
  answer.scores.assign(query.count * answer.width, 77);
  std::vector<int> calls(query.count);
  Stop stop;
  answer.trace = index::search(
      snapshot, query, answer.planned,
      [&](std::size_t q, const std::vector<search::Hit>& hits) {
        ++calls[q];
        for (std::size_t i = 0; i < answer.width; ++i) {
          const bool real = i < hits.size();
          answer.ids[q * answer.width + i] = real ? hits[i].id : -1;
          answer.scores[q * answer.width + i] = real ? hits[i].score : -std::numeric_limits<float>::infinity();
        }
      },
      stop);
  for (const int times_called : calls) CHECK_EQ(times_called, 1);
  return answer;
}

/// The same with one mask for all queries.
inline Answer search_on(const index::Snapshot& snapshot, const float* queries, std::size_t count, std::size_t k,
                        const search::Bitmask& allow, unsigned workers, std::size_t extra_width = 0) {
  const search::Bitmask* const masks[] = {&allow};
  return search_on(snapshot, {queries, count, k, masks, {}, workers}, extra_width);
}

class World {
 public:
  World(std::size_t n, std::size_t dim, const kernels::Metric& metric, std::size_t queries, Random& random,
        index::Storage storage = {})
      : store(dim, metric, storage), model_(dim, metric, storage.codec), metric_(metric) {
    Stop stop;
    const auto range = static_cast<std::int64_t>(n * 3 + 10);
    const Rows rows = random_rows(n, dim, range, random, true);
    store.add(rows.batch(), stop);
    model_.put(rows);
    const Rows again = random_rows(n / 10, dim, range, random, true);
    store.upsert(again.batch(), stop);
    model_.put(again);
    std::vector<std::int64_t> gone;
    for (const auto& [id, row] : model_.stored()) {
      if (random.one_in(9)) gone.push_back(id);
    }
    store.remove(gone);
    model_.remove(gone);

    for (std::size_t q = 0; q < queries; ++q) {
      std::vector<float> query = random_rows(1, dim, 1, random, random.one_in(2)).vectors;
      given.insert(given.end(), query.begin(), query.end());
      if (metric.unit_rows) query = reference::unit<reference::LibraryFma>(std::move(query));
      std::vector<float> scores;
      for (const ModelRow& row : model_.layout()) {
        scores.push_back(reference::kQuick[static_cast<std::size_t>(metric.id)](query.data(), row.vector.data(), dim));
      }
      scores_.push_back(std::move(scores));
    }
  }

  std::size_t rows() const { return model_.layout().size(); }
  std::size_t dim() const { return model_.dim(); }

  /// All permitted rows of a query, best first.
  std::vector<reference::Scored> ranked(std::size_t query, const search::Bitmask& allow) const {
    std::vector<reference::Scored> all;
    for (std::size_t r = 0; r < rows(); ++r) {
      const ModelRow& row = model_.layout()[r];
      if (!row.dead && allow.test(r)) all.push_back({scores_[query][r], row.id});
    }
    return reference::ranked(std::move(all));
  }

  /// Runs one search over queries [first, first + count) and compares ids and score bits.
  void compare(const std::vector<std::vector<reference::Scored>>& ranked_by_query, std::size_t first, std::size_t count,
               std::size_t k, const search::Bitmask& allow, unsigned workers, std::size_t extra) const {
    const Note note(metric_.name, ", ", rows(), " rows, queries ", first, "+", count, ", k ", k, ", ", workers,
                    " workers");
    const Answer answer = search_on(*store.snapshot(), given.data() + first * dim(), count, k, allow, workers, extra);
    for (std::size_t q = 0; q < count; ++q) {
      const auto& ranked = ranked_by_query[first + q];
      CHECK_EQ(answer.only().permitted, ranked.size());
      CHECK_EQ(answer.only().returned, std::min(k, ranked.size()));
      for (std::size_t i = 0; i < answer.width; ++i) {
        const bool real = i < answer.only().returned;
        CHECK_EQ(answer.ids[q * answer.width + i], real ? ranked[i].id : -1);
        CHECK_BITS(answer.scores[q * answer.width + i],
                   real ? ranked[i].score : -std::numeric_limits<float>::infinity());
      }
    }
  }

  index::RowStore store;
  std::vector<float> given;  // queries as a caller gives them

 private:
  Model model_;
  kernels::Metric metric_;
  std::vector<std::vector<float>> scores_;
};

}  // namespace evidex::check
