// SPDX-License-Identifier: Apache-2.0
// Exact top-k over the stored float32 rows that a mask permits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "base/stop.hpp"
#include "index/snapshot.hpp"
#include "search/bitmask.hpp"
#include "search/top_k.hpp"

namespace evidex::index {

struct Query {
  const float* vectors;  ///< [count, dim], as given; prepared inside
  std::size_t count;
  std::size_t k;
  const search::Bitmask& allow;
  unsigned threads;  ///< at most this many, the caller's included
  /// Hits with lower scores are left out; an equal one stays.
  float min_score = -std::numeric_limits<float>::infinity();
};

/// Takes one query's hits, best first. Called once per query, from several threads.
using Sink = std::function<void(std::size_t query, const std::vector<search::Hit>& hits)>;

/// How a search ran; the same for every query of the call.
struct Plan {
  std::size_t permitted = 0;  ///< live rows the mask permits
  std::size_t returned = 0;   ///< min(k, permitted): most hits per query, and all of them without a min_score
  unsigned workers = 1;
};

/// How many hits the queries of a call can get, and on how many threads it would run.
Plan plan(const Snapshot& snapshot, const Query& query);

/// The `planned.returned` best rows per query under (score descending, id ascending).
void search(const Snapshot& snapshot, const Query& query, const Plan& planned, const Sink& sink, Stop& stop);

}  // namespace evidex::index
