// SPDX-License-Identifier: Apache-2.0
// Top-k over the stored rows that a mask permits: exact, or where the caller says so by codes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "base/stop.hpp"
#include "index/lookup_search.hpp"
#include "index/snapshot.hpp"
#include "search/bitmask.hpp"
#include "search/top_k.hpp"

namespace evidex::index {

inline constexpr float kNoScore = -std::numeric_limits<float>::infinity();

/// Leave to approximate.
struct Approximate {
  LookupView codes;
  std::size_t candidates;  ///< rows scored per query, at least k
  bool forced;             ///< also where an exact search should cost less
  SearchCosts costs;
};

struct Query {
  const float* vectors;  ///< [count, dim], as given; prepared inside
  std::size_t count;
  std::size_t k;
  std::span<const search::Bitmask* const> masks;  ///< at least one
  std::span<const std::uint32_t> mask_of;         ///< [count], each query's mask; empty: the first for all
  unsigned threads;                               ///< at most this many, the caller's included
  /// Hits with lower scores are left out; an equal one stays.
  float min_score = kNoScore;
  bool grouped = false;  ///< the best row of each group, and the best k of those
  const Approximate* approximate = nullptr;
};

/// Takes one query's hits, best first. Called once per query, from several threads.
using Sink = std::function<void(std::size_t query, const std::vector<search::Hit>& hits)>;

/// How the queries of one mask run.
struct MaskPlan {
  std::size_t permitted = 0;  ///< live rows the mask permits
  std::size_t returned = 0;   ///< min(k, permitted): most hits per query
  bool prescan = false;       ///< codes first, then the rows that can still be among the hits
  bool lookup = false;        ///< only the best by estimate are scored: not certified
};

struct Plan {
  std::vector<MaskPlan> masks;
  unsigned workers = 1;
};

/// How many hits the queries of a call can get, how and on how many threads it would run.
Plan plan(const Snapshot& snapshot, const Query& query);

/// What happened on the way: facts for the operator, since they may depend on rows a caller may not read.
struct Trace {
  std::size_t abandoned = 0;  ///< queries whose codes told too little, so that all their rows were scored
};

/// The best rows per query under (score descending, id ascending).
Trace search(const Snapshot& snapshot, const Query& query, const Plan& planned, const Sink& sink, Stop& stop);

}  // namespace evidex::index
