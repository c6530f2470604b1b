// SPDX-License-Identifier: Apache-2.0
// Exact best k by terms: queries to terms and weights, ranges of rows to workers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/stop.hpp"
#include "index/flat.hpp"
#include "index/sparse_counts.hpp"
#include "index/sparse_ranking.hpp"
#include "index/sparse_view.hpp"

namespace evidex::index {

/// Terms of query q are those from starts[q] to starts[q + 1], distinct, in any order. Weights are quarters, or where
/// the view is of vectors weights as they are.
struct SparseQuery {
  std::span<const std::string_view> terms;
  std::span<const double> weights;
  std::span<const std::size_t> starts;  ///< [count + 1]
  std::size_t k;
  std::span<const search::Bitmask* const> masks;  ///< at least one
  std::span<const std::uint32_t> mask_of;         ///< [count], each query's mask; empty: the first for all
  unsigned threads;                               ///< at most this many, the caller's included
  bool grouped = false;

  std::size_t count() const noexcept { return starts.size() - 1; }
};

/// How rows are scored, where they have text.
struct SparseRanking {
  Ranking ranking = Ranking::bm25;
  double k1 = 1.2;
  double b = 0.75;
};

/// The plan of the masks, and how many workers are worth it.
Plan plan(const SparseView& view, const SparseQuery& query);

/// `counts` are the statistics of the call's scope; null where the view is of vectors. Rows that have none of
/// the terms are no hits.
void search(const SparseView& view, const SparseCounts* counts, const SparseRanking& ranking, const SparseQuery& query,
            const Plan& planned, const Sink& sink, Stop& stop);

}  // namespace evidex::index
