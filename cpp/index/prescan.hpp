// SPDX-License-Identifier: Apache-2.0
// Exact search that reads codes first. Pass 1 estimates every permitted row from the high plane of its code and
// bounds its score from above; the best by estimate are scored, which gives a threshold that k rows (or groups)
// reach; pass 2 scores whatever can still reach it. docs/exactness.md proves that no hit is lost.
#pragma once

#include <optional>
#include <vector>

#include "index/bounds.hpp"
#include "index/tile.hpp"

namespace evidex::index {

/// Whether codes are worth it for so many permitted rows and hits, judged by nothing a caller may not know.
bool prescan_pays(std::size_t dim, std::size_t permitted, std::size_t returned, bool has_min_score);

/// Most queries of a tile, for the memory of their bounds.
std::size_t prescan_queries(const Snapshot& snapshot, std::size_t permitted);

/// The selections of the tile's queries; nothing where the codes tell too little, and the rows should be scanned.
/// `room` is memory for bounds that the next call can use again.
std::optional<std::vector<search::TopK>> prescan(const Tile& tile, unsigned workers, BoundRoom& room);

}  // namespace evidex::index
