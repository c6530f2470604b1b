// SPDX-License-Identifier: Apache-2.0
// The query's side of the error bound: an 8-bit form of the query and the coefficients with which any coded
// row's canonical score is bounded from above. docs/exactness.md proves that the bound holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/bound_terms.hpp"
#include "kernels/metrics.hpp"

namespace evidex::codecs {

/// The bound for the high plane alone, whose sum is used as it is, and for both planes, whose sum is
/// combined(high sum, low sum).
struct QueryBounds {
  kernels::BoundTerms high;
  kernels::BoundTerms full;
  std::int32_t total;  ///< sum of the query's codes

  std::int32_t combined(std::int32_t high_sum, std::int32_t low_sum) const {
    // The result fits 32 bits up to kMostCodedDim components, the terms on the way may not.
    return static_cast<std::int32_t>(std::int64_t{16} * high_sum + low_sum - std::int64_t{128} * total);
  }
};

/// Codes a prepared query against rows coded as row - reference. `codes` holds 2 * plane_bytes(dim).
QueryBounds bound_query(const kernels::Metric& metric, std::span<const float> reference, const float* query,
                        std::span<std::int8_t> codes);

}  // namespace evidex::codecs
