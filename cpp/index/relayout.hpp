// SPDX-License-Identifier: Apache-2.0
// Rows in another order: what optimizing a layout copies.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/stop.hpp"
#include "index/snapshot.hpp"

namespace evidex::index {

/// One row as it is kept, to place `at` of other chunks; `codes` where the rows have them.
void copy_row(const Snapshot& from, Place old, Chunk& target, CodeChunk* codes, std::size_t at);

/// Live rows by the rank of their owner's rule, then as they lie: rows under one rule become a run. Rules without a
/// rank come last.
std::vector<std::uint32_t> clustered_order(const Snapshot& snapshot, std::span<const std::uint32_t> rank_of_rule);

/// A snapshot of exactly these rows in this order, bit for bit, with nothing removed. It lacks a layout number.
std::shared_ptr<Snapshot> relaid(const Snapshot& from, std::span<const std::uint32_t> order, Stop& stop);

}  // namespace evidex::index
