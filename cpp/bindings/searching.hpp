// SPDX-License-Identifier: Apache-2.0
// Searches of a snapshot as Python calls them.
#pragma once

#include <cstdint>
#include <vector>

#include "bindings/arrays.hpp"
#include "index/flat.hpp"

namespace evidex::bindings {

/// Results of one call as arrays [nq, width]; places beyond a query's hits hold -1, and score -infinity.
struct Answer {
  py::array_t<std::int64_t> ids;
  py::array_t<float> scores;
  py::array_t<std::int64_t> groups;
  py::array_t<std::int64_t> rows;    // where the hits lie in the snapshot
  py::array_t<std::int64_t> counts;  // [nq]
  py::array_t<bool> certified;       // [nq]
  index::Plan plan;
  index::Trace trace;
};

using Masks = std::vector<const search::Bitmask*>;

/// The best k per query; as wide as k, above 65,536 as the largest count. `mask_of` names each query's
/// mask; empty: the first for all.
Answer search_best(const index::Snapshot& snapshot, const Array<float>& queries, std::size_t k, const Masks& masks,
                   const Array<std::uint32_t>& mask_of, unsigned threads, bool grouped,
                   const index::Approximate* approximate);

/// All, or the best `limit`, that score min_score or more; as wide as the largest count.
Answer search_radius(const index::Snapshot& snapshot, const Array<float>& queries, float min_score, std::size_t limit,
                     const Masks& masks, const Array<std::uint32_t>& mask_of, unsigned threads);

}  // namespace evidex::bindings
