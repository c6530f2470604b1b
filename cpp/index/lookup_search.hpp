// SPDX-License-Identifier: Apache-2.0
// Approximate search: the permitted rows are estimated from their 4-bit codes, the best by estimate scored. Scores are
// canonical; which rows are found is not certain. Rows that have no codes yet are all scored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "index/lookup_codes.hpp"
#include "index/tile.hpp"

namespace evidex::index {

/// What ways to search cost on some machine, in nanoseconds, one query.
struct SearchCosts {
  double row = 0;           ///< exact, a row where all of 64 neighbours are permitted
  double eighth = 0;        ///< where one in eight is
  double sixty_fourth = 0;  ///< where one is
  double word = 0;          ///< codes of 64 rows, whether all are permitted or one
  double candidate = 0;     ///< scoring one
  double start = 0;         ///< tables of a query

  /// So many permitted rows in so many words of 64.
  double exact(std::size_t permitted, std::size_t words) const;
  double lookup(std::size_t words, std::size_t candidates) const;
};

/// The selections of the tile's queries; nothing where estimates are no numbers, and the rows should be scanned.
std::optional<std::vector<search::TopK>> lookup(const Tile& tile, const LookupView& codes, std::size_t candidates,
                                                unsigned workers);

/// The best rows by estimate of each query ([count, dim], as given), best first: row numbers.
std::vector<std::vector<std::int64_t>> best_by_estimate(const Snapshot& snapshot, const float* queries,
                                                        std::size_t count, const search::Bitmask& allow,
                                                        const LookupView& codes, std::size_t candidates, Stop& stop);

}  // namespace evidex::index
