// SPDX-License-Identifier: Apache-2.0
#include "index/prepare.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>
#include <string>

#include "base/error.hpp"
#include "kernels/dispatch.hpp"

namespace evidex::index {
namespace {

/// Not finite where a component is not. Eight running sums in a fixed order: the same on every
/// machine, and quick at the baseline.
double squared_norm(const float* row, std::size_t dim) {
  double sums[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= dim; i += 8) {
    for (std::size_t j = 0; j < 8; ++j) sums[j] += static_cast<double>(row[i + j]) * static_cast<double>(row[i + j]);
  }
  for (; i < dim; ++i) sums[0] += static_cast<double>(row[i]) * static_cast<double>(row[i]);
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

float largest_magnitude(const float* row, std::size_t dim) {
  float largest = 0;
  for (std::size_t i = 0; i < dim; ++i) largest = std::max(largest, std::fabs(row[i]));
  return largest;
}

[[noreturn]] void refuse(const char* what, std::size_t row, const std::string& why) {
  throw InvalidInput(std::string(what) + ": row " + std::to_string(row) + " " + why);
}

[[noreturn]] void refuse_not_finite(const char* what, std::size_t row, const float* values, std::size_t dim) {
  std::size_t at = 0;
  while (at + 1 < dim && std::isfinite(values[at])) ++at;
  std::ostringstream why;
  why << "holds " << values[at] << " at position " << at << "; every component must be finite";
  refuse(what, row, why.str());
}

/// Scales by the power of two that brings the largest magnitude into [1, 2), then divides by the
/// IEEE square root of the canonical self-product: any length of input gives a row of length 1.
void normalise(const kernels::Table& kernels, const float* row, float largest, std::size_t dim, float* target) {
  const double scale = std::ldexp(1.0, -std::ilogb(largest));
  for (std::size_t i = 0; i < dim; ++i) target[i] = static_cast<float>(static_cast<double>(row[i]) * scale);
  float squared = 0;
  constexpr std::size_t kProduct = kernels::definitions::InnerProduct::id;
  kernels.metrics[kProduct].scan(target, target, dim, 1, dim, &squared);
  const float norm = std::sqrt(squared);
  for (std::size_t i = 0; i < dim; ++i) target[i] /= norm;
}

}  // namespace

void prepare(const kernels::Metric& metric, std::size_t dim, const float* source, std::size_t from, std::size_t n,
             float* target, const char* what) {
  const kernels::Table& kernels = kernels::active();
  for (std::size_t r = 0; r < n; ++r) {
    const float* row = source + (from + r) * dim;
    const double squared = squared_norm(row, dim);
    if (!std::isfinite(squared)) refuse_not_finite(what, from + r, row, dim);
    if (metric.unit_rows) {
      const float largest = largest_magnitude(row, dim);
      if (largest == 0)
        refuse(what, from + r, "is all zeros, which has no direction under " + std::string(metric.name));
      normalise(kernels, row, largest, dim, target + r * dim);
    } else {
      if (squared > kMaxSquaredNorm) {
        std::ostringstream why;
        why << "has squared norm " << squared << ", above the limit 2^125 (" << kMaxSquaredNorm << ") under "
            << metric.name << "; scale the vectors down";
        refuse(what, from + r, why.str());
      }
      std::memcpy(target + r * dim, row, dim * sizeof(float));
    }
  }
}

}  // namespace evidex::index
