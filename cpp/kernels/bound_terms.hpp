// SPDX-License-Identifier: Apache-2.0
// What one query brings to the error bound of a row's code. docs/exactness.md derives every term.
#pragma once

#include <cstdint>

namespace evidex::kernels {

/// Coefficients for one query and one level of the code (the high plane alone, or both planes). The
/// code's sum gives the integer factor * sum - offset, and that times step * scale the product of the
/// decoded query and the decoded row (twice that product for distances).
struct BoundTerms {
  std::int32_t factor;
  std::int32_t offset;
  float step;
  float base;          ///< products: <query, reference>; distances: |query - reference|^2, lowered
  float per_norm;      ///< times the norm of the decoded row
  float per_residual;  ///< times the norm of what decoding lost
  float shrink;        ///< distances: what rounding leaves of a squared distance
  float slack;
};

}  // namespace evidex::kernels
