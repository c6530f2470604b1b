// SPDX-License-Identifier: Apache-2.0
// What every vector passes before it is stored or searched with: finiteness, the norm limit, and
// under a metric with unit rows the division by the canonical norm.
#pragma once

#include <cstddef>

#include "kernels/metrics.hpp"

namespace evidex::index {

/// Squared norms above this are refused where rows keep their length: |<q, x>| <= 2^125 and
/// |q - x|^2 <= 2^127 then stay finite in float32 whatever the order of the sum.
inline constexpr double kMaxSquaredNorm = 0x1p125;

/// Writes the prepared form of vectors [from, from + n) of `source` to `target` (both [., dim],
/// contiguous). Throws InvalidInput naming `what` and the row's number.
void prepare(const kernels::Metric& metric, std::size_t dim, const float* source, std::size_t from, std::size_t n,
             float* target, const char* what);

}  // namespace evidex::index
