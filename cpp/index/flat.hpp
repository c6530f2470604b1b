// SPDX-License-Identifier: Apache-2.0
// Exact top-k over the stored float32 rows that a mask permits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/stop.hpp"
#include "index/snapshot.hpp"
#include "search/bitmask.hpp"

namespace evidex::index {

struct Query {
  const float* vectors;  ///< [count, dim], as given; prepared inside
  std::size_t count;
  std::size_t k;
  const search::Bitmask& allow;
  unsigned threads;  ///< at most this many, the caller's included
};

/// Where results go: [count, width] row-major, width >= min(k, permitted). Every place is written;
/// those beyond a query's hits get id -1 and score -infinity.
struct Output {
  std::int64_t* ids;
  float* scores;
  std::size_t width;
};

/// How a search ran; the same for every query of the call.
struct Plan {
  std::size_t permitted = 0;  ///< live rows the mask permits
  std::size_t returned = 0;   ///< min(k, permitted): hits per query
  unsigned workers = 1;
};

/// How many hits each query of a call gets, and on how many threads it would run.
Plan plan(const Snapshot& snapshot, const Query& query);

/// The `planned.returned` best rows per query under (score descending, id ascending).
void search(const Snapshot& snapshot, const Query& query, const Plan& planned, const Output& output, Stop& stop);

}  // namespace evidex::index
