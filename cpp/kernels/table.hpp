// SPDX-License-Identifier: Apache-2.0
// One instruction set's kernels as plain function pointers. Callers fetch a table once per scan.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/metrics.hpp"

namespace evidex::kernels {

/// Scores of `n` rows that lie `stride` floats apart, `dim` floats each. Any dim, any alignment.
using Scan = void (*)(const float* query, const float* rows, std::size_t stride, std::size_t n, std::size_t dim,
                      float* scores) noexcept;

/// The same for rows anywhere in memory.
using Gather = void (*)(const float* query, const float* const* rows, std::size_t n, std::size_t dim,
                        float* scores) noexcept;

/// Scores of nq x n pairs: queries contiguous [nq, dim], rows anywhere, a query's n scores `stride` after
/// those of the one before.
using Tile = void (*)(const float* queries, std::size_t nq, const float* const* rows, std::size_t n, std::size_t dim,
                      float* scores, std::size_t stride) noexcept;

/// Bit i is set where scores[i] >= threshold; reads exactly 64 scores.
using Reach = std::uint64_t (*)(const float* scores, float threshold) noexcept;

struct MetricKernels {
  Scan scan;
  Gather gather;
  Tile tile;
};

struct Table {
  std::string_view isa;
  std::array<MetricKernels, kMetrics.size()> metrics;
  Reach reach;
  /// What an override replaced: "native" when written with this set's registers, else "generic".
  std::string_view lanes_kind;
  std::string_view reach_kind;
};

}  // namespace evidex::kernels
