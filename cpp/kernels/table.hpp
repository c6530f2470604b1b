// SPDX-License-Identifier: Apache-2.0
// One instruction set's kernels as plain function pointers. Callers fetch a table once per scan.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/bound_terms.hpp"
#include "kernels/lookup.hpp"
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

/// Estimates and upper bounds of n canonical scores from the sums of n codes and what is known of their rows.
/// An upper bound that is not finite comes out as infinity.
using Bound = void (*)(const BoundTerms& terms, const std::int32_t* sums, const float* scales, const float* norms,
                       const float* residuals, std::size_t n, float* estimates, float* uppers) noexcept;

struct MetricKernels {
  Scan scan;
  Gather gather;
  Tile tile;
  Bound bound;
};

/// Sums of a plane's nibbles times a query's signed bytes, for n planes of `bytes` in sequence. A query is
/// 2 * bytes long; `bytes` is a multiple of 16.
using NibbleScan = void (*)(const std::int8_t* query, const std::uint8_t* rows, std::size_t n, std::size_t bytes,
                            std::int32_t* sums) noexcept;

/// The same for nq x n pairs, planes anywhere, a query's n sums `stride` after those of the one before.
using NibbleTile = void (*)(const std::int8_t* queries, std::size_t nq, const std::uint8_t* const* rows, std::size_t n,
                            std::size_t bytes, std::int32_t* sums, std::size_t stride) noexcept;

/// Codes and planes of row - reference; returns the scale. `codes` and a plane hold 2 * bytes and bytes.
using Quantise = float (*)(const float* row, const float* reference, std::size_t dim, std::size_t bytes,
                           std::int8_t* codes, std::uint8_t* high, std::uint8_t* low) noexcept;

/// Squared norms of a row's whole-number codes (the high plane's halved odd numbers 2u - 15, and both
/// planes'), and of what decoding loses.
struct CodeSums {
  std::int32_t high_square;
  std::int32_t square;
  double high_lost;
  double lost;
};
using Measure = CodeSums (*)(const float* row, const float* reference, const std::int8_t* codes, float scale,
                             std::size_t dim) noexcept;

/// scale * code, rounded once.
using Decode = void (*)(const std::uint8_t* high, const std::uint8_t* low, std::size_t bytes, float scale,
                        std::size_t dim, float* out) noexcept;

/// What a bound needs to know of a row, in one word: the norm in the low half, above it the upper 16 bits of the
/// residual's norm, then those of the scale, which has no others. One cache line then holds it for eight rows.
using RowFacts = std::uint64_t;
using Unpack = void (*)(const RowFacts* facts, std::size_t n, float* scales, float* norms, float* residuals) noexcept;

struct CodeKernels {
  NibbleScan scan;
  NibbleTile tile;
  Unpack unpack;
  Quantise quantise;
  Measure measure;
  Decode decode;
};

/// Of 64 rows, the sums of the entries that their codes name: `positions` tables of kLookupTable bytes, a multiple of
/// kLookupGroup and at most kMostPositions, of entries that are at most kMostEntry.
using LookupSums = void (*)(const std::uint8_t* codes, const std::uint8_t* tables, std::size_t positions,
                            std::uint16_t* sums) noexcept;
/// Of 64 rows, estimates from those sums.
using LookupEstimates = void (*)(const LookupTerms& terms, const std::uint16_t* sums, const LookupFacts* facts,
                                 float* estimates) noexcept;

struct LookupKernels {
  LookupSums sums;
  LookupEstimates estimates;
};

/// float32 to float16, to nearest, ties to even; magnitudes beyond float16 become infinity.
using Narrow = void (*)(const float* values, std::size_t n, std::uint16_t* halves) noexcept;
using Widen = void (*)(const std::uint16_t* halves, std::size_t n, float* values) noexcept;

struct HalfKernels {
  Narrow narrow;
  Widen widen;
};

struct Table {
  std::string_view isa;
  std::array<MetricKernels, kMetrics.size()> metrics;
  Reach reach;
  CodeKernels codes;
  HalfKernels halves;
  LookupKernels lookups;
  /// What an override replaced: "native" when written with this set's registers, or compiled to them, else "generic".
  std::string_view lanes_kind;
  std::string_view reach_kind;
};

}  // namespace evidex::kernels
