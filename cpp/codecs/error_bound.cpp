// SPDX-License-Identifier: Apache-2.0
#include "codecs/error_bound.hpp"

#include <algorithm>
#include <cmath>

#include "codecs/rounding.hpp"

namespace evidex::codecs {
namespace {

using kernels::BoundTerms;

constexpr double kUnit = 0x1p-24;       // half a last place of float32
constexpr double kRoundings = 0x1p-18;  // the float32 roundings of an estimate and its bound, with room
constexpr double kMore = 1.0 + 0x1p-18;
constexpr double kDoubles = 1.0 + 0x1p-30;  // sums in double
constexpr double kUnderflow = 0x1p-116;     // all that underflow can add

/// gamma(n) of Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1, for the longest
/// chain of roundings in a canonical sum: one per 16 components and four to add the lanes up.
double canonical_rounding(std::size_t dim, std::size_t more) {
  const std::size_t steps = dim / 16 + 1;
  const double n = static_cast<double>(steps + 4 + more) * kUnit;
  return n / (1.0 - n);
}

struct Measured {
  double query = 0;      // |q|
  double reference = 0;  // |m|
  double coded = 0;      // |t|: the vector that is coded, q itself or q - m
  double lost = 0;       // |t - decoded t|
  double product = 0;    // <q, m>
  float scale = 0;
  std::int32_t total = 0;
};

Measured code(bool distance, std::span<const float> reference, const float* query, std::span<std::int8_t> codes) {
  const std::size_t dim = reference.size();
  const auto target = [&](std::size_t i) {
    return static_cast<double>(query[i]) - (distance ? static_cast<double>(reference[i]) : 0.0);
  };
  double largest = 0;
  for (std::size_t i = 0; i < dim; ++i) largest = std::max(largest, std::fabs(target(i)));
  Measured found;
  found.scale = static_cast<float>(largest / 127.0);
  const auto scale = static_cast<double>(found.scale);
  std::fill(codes.begin(), codes.end(), std::int8_t{0});
  double query_square = 0;
  double reference_square = 0;
  double coded_square = 0;
  double lost_square = 0;
  for (std::size_t i = 0; i < dim; ++i) {
    const auto q = static_cast<double>(query[i]);
    const auto m = static_cast<double>(reference[i]);
    const double t = target(i);
    const double whole = scale > 0 ? std::clamp(std::nearbyint(t / scale), -127.0, 127.0) : 0.0;
    codes[i] = static_cast<std::int8_t>(whole);
    found.total += codes[i];
    found.product += q * m;
    query_square += q * q;
    reference_square += m * m;
    coded_square += t * t;
    lost_square += (t - scale * whole) * (t - scale * whole);
  }
  found.query = std::sqrt(query_square) * kDoubles;
  found.reference = std::sqrt(reference_square) * kDoubles;
  found.coded = std::sqrt(coded_square) * kDoubles;
  found.lost = std::sqrt(lost_square) * kDoubles + 0x1p-48 * found.coded;
  return found;
}

BoundTerms product_terms(const Measured& m, double rounding) {
  const double relative = rounding + kRoundings;
  BoundTerms terms{};
  terms.step = m.scale;
  terms.base = static_cast<float>(m.product);
  terms.per_residual = round_up(m.query * (1.0 + rounding) * kMore);
  terms.per_norm = round_up((m.lost + relative * (m.query + m.lost)) * kMore);
  terms.slack = round_up(relative * m.query * m.reference * kMore + kUnderflow);
  return terms;
}

BoundTerms distance_terms(const Measured& m, double rounding) {
  const double reach = m.coded + m.lost;
  BoundTerms terms{};
  terms.step = 2.0F * m.scale;
  const double square = m.coded / kDoubles * (m.coded / kDoubles);
  terms.base = round_down(square * (2.0 - kDoubles) - 2.0 * kRoundings * reach * reach - kUnderflow);
  terms.per_norm = round_up(2.0 * m.lost * kMore);
  terms.shrink = round_down((1.0 - rounding) * (1.0 - 0x1p-20));
  terms.slack = static_cast<float>(kUnderflow);
  return terms;
}

}  // namespace

QueryBounds bound_query(const kernels::Metric& metric, std::span<const float> reference, const float* query,
                        std::span<std::int8_t> codes) {
  const Measured measured = code(metric.distance, reference, query, codes);
  QueryBounds bounds{};
  bounds.full = metric.distance ? distance_terms(measured, canonical_rounding(reference.size(), 2))
                                : product_terms(measured, canonical_rounding(reference.size(), 0));
  bounds.full.factor = 1;
  bounds.full.offset = 0;
  bounds.total = measured.total;
  // A nibble u stands for the code 16 * u - 120, in the middle of those that share it: 8 * (2 * u - 15).
  bounds.high = bounds.full;
  bounds.high.factor = 2;
  bounds.high.offset = 15 * measured.total;
  bounds.high.step = 8.0F * bounds.full.step;
  return bounds;
}

}  // namespace evidex::codecs
