// SPDX-License-Identifier: Apache-2.0
// When and how the codes beside the rows come to be.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/stop.hpp"
#include "index/segment.hpp"
#include "index/snapshot.hpp"

namespace evidex::index {

/// Codes are not worth their memory for shorter rows (benchmarks/NOTES.md).
inline constexpr std::size_t kLeastCodedDim = 32;
/// From this many rows on codes are kept, and used where so many are permitted (one number for both: what a caller is
/// told of the plan must follow from its own rows). Fewer are scored directly as fast (benchmarks/NOTES.md).
constexpr std::size_t least_coded_rows(std::size_t dim) {
  constexpr std::size_t kComponents = std::size_t{2048} * 384;
  return std::clamp<std::size_t>(kComponents / dim, 512, 2048);
}

/// Room for the codes of all rows of `next`.
void ensure_code_chunks(Snapshot& next);

/// Codes the rows of one chunk of `next` that it has room for codes of.
void code_chunk(Snapshot& next, std::size_t c, Stop& stop);

/// The codes of the segment that `next` has just been given the rows of: its own where they were coded against the
/// same reference, made here otherwise; and of rows before it that have none yet.
void attach_codes(Snapshot& next, const Segment& segment, Stop& stop);

/// Freezes the reference, the mean of the first rows, and codes all rows of `next`, which no reader knows yet.
void start_codes(Snapshot& next, Stop& stop);

}  // namespace evidex::index
