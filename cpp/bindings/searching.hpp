// SPDX-License-Identifier: Apache-2.0
// Searches of a snapshot as Python calls them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bindings/answer.hpp"
#include "bindings/arrays.hpp"
#include "index/flat.hpp"

namespace evidex::bindings {

using Masks = std::vector<const search::Bitmask*>;

/// Throws InvalidInput unless there are masks, and `mask_of` is empty or names one of them for each of `count` queries.
void require_masks(const Masks& masks, std::span<const std::uint32_t> mask_of, std::size_t count);

/// The best k per query; as wide as k, above 65,536 as the largest count. `mask_of` names each query's
/// mask; empty: the first for all.
Answer search_best(const index::Snapshot& snapshot, const Array<float>& queries, std::size_t k, const Masks& masks,
                   const Array<std::uint32_t>& mask_of, unsigned threads, bool grouped,
                   const index::Approximate* approximate);

/// All, or the best `limit`, that score min_score or more; as wide as the largest count.
Answer search_radius(const index::Snapshot& snapshot, const Array<float>& queries, float min_score, std::size_t limit,
                     const Masks& masks, const Array<std::uint32_t>& mask_of, unsigned threads);

}  // namespace evidex::bindings
