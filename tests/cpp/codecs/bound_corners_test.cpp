// SPDX-License-Identifier: Apache-2.0
// The bound where numbers are as small, as large, as equal or as many as they may be.
//
// P7, B8. Seen red with: the test for finite bounds left out (norms_at_the_limit), kUnderflow at 0
// (components_that_are_subnormal), no canonical rounding and, with the sanitizer, `combined` in 32 bits (the longest
// rows), what the bound allows for the reference left out, residuals times 0.9.
#include <cmath>
#include <vector>

#include "check.hpp"
#include "codecs/pair.hpp"
#include "index/prepare.hpp"
#include "random.hpp"

namespace {

using namespace evidex;
using check::Pair;
using check::Random;
using kernels::kMetrics;
using kernels::Metric;
using Vector = std::vector<float>;

Vector prepared(const Metric& metric, const Vector& given) {
  Vector out(given.size());
  index::prepare(metric, given.size(), given.data(), 0, 1, out.data(), "vectors");
  return out;
}

Vector times(Vector v, float factor) {
  for (float& x : v) x *= factor;
  return v;
}

Vector around(std::size_t dim, float value, float spread, Random& random) {
  Vector v(dim);
  for (float& x : v) x = value + spread * random.real();
  return v;
}

/// Each of the vectors as query, row and reference; the reference may be zero.
void check_all(const std::vector<Vector>& given) {
  for (const Metric& metric : kMetrics) {
    for (const Vector& query : given) {
      for (const Vector& row : given) {
        if (metric.unit_rows && (Vector(query.size()) == query || Vector(row.size()) == row)) continue;
        Pair pair{prepared(metric, query), prepared(metric, row), Vector(query.size())};
        check::check_pair(metric, pair);
        check::check_pair(metric, pair, true);
        for (const Vector& reference : given) {
          pair.reference = reference;
          check::check_pair(metric, pair);
        }
      }
    }
  }
}

constexpr std::size_t kDims[] = {1, 2, 3, 15, 16, 17, 31, 32, 33, 100};

}  // namespace

TEST(equal_opposite_and_missing_vectors_of_every_length) {
  Random random(check::seed(), "equal");
  for (std::size_t dim = 1; dim <= 70; ++dim) {
    const Vector v = around(dim, 0, 1, random);
    check_all({v, times(v, -1), around(dim, 0, 1, random), Vector(dim)});
  }
}

TEST(components_that_are_subnormal) {
  Random random(check::seed(), "subnormal");
  for (const std::size_t dim : kDims) {
    const Vector v = around(dim, 0, 1, random);
    Vector least(dim);
    least[dim - 1] = 0x1p-149F;
    check_all({times(v, 1e-40F), times(v, -1e-40F), times(v, 0x1p-126F), times(v, 0x1p-75F), least, Vector(dim), v});
  }
}

TEST(either_side_of_the_least_usable_scale) {
  Random random(check::seed(), "least");
  for (const std::size_t dim : kDims) {
    Vector v = around(dim, 0, 1, random);
    v[0] = 1;
    std::vector<Vector> given;
    for (const float size : {0x1p-99F, 0x1p-100F, std::nextafter(0x1p-100F, 0.0F), 0x1p-101F, 0x1p-94F}) {
      given.push_back(times(v, size));
    }
    check_all(given);
  }
}

TEST(norms_at_the_limit) {                                   // squared 2^125
  for (const std::size_t dim : {2U, 8U, 32U, 128U, 512U}) {  // two times a power of four: exactly
    const float most = std::ldexp(1.0F, 62) / std::sqrt(static_cast<float>(dim / 2));
    Vector all(dim, most);
    Vector alternating = all;
    for (std::size_t i = 0; i < dim; i += 2) alternating[i] = -most;
    Vector lone(dim);
    lone[dim - 1] = 0x1.6p62F;
    check_all({all, times(all, -1), alternating, lone, times(lone, -1), Vector(dim, 1.0F)});
  }
}

TEST(rows_that_hardly_differ) {
  Random random(check::seed(), "constant");
  for (const std::size_t dim : kDims) {
    for (const float spread : {0.0F, 0x1p-23F, 0x1p-15F, 0x1p-7F}) {
      check_all({around(dim, 1, spread, random), around(dim, 1, spread, random), around(dim, -1, spread, random)});
    }
  }
}

TEST(one_huge_component) {
  Random random(check::seed(), "huge");
  for (const std::size_t dim : kDims) {
    std::vector<Vector> given;
    for (const float size : {1e3F, 1e10F, 0x1p62F}) {
      for (const float sign : {1.0F, -1.0F}) {
        given.push_back(around(dim, 0, 1, random));
        given.back()[random.below(dim)] = sign * size;
      }
    }
    check_all(given);
  }
}

TEST(b8_sums_of_the_longest_rows_that_codes_may_have) {
  // Codes of 127 and -127 throughout: whole-number sums as large as 32 bits can hold.
  constexpr std::size_t kDim = codecs::kMostCodedDim;
  const Vector all(kDim, 1.0F);
  Vector alternating = all;
  for (std::size_t i = 0; i < kDim; i += 2) alternating[i] = -1;
  for (const Metric& metric : kMetrics) {
    const Pair same{prepared(metric, all), prepared(metric, all), Vector(kDim)};
    for (const Vector& row : {same.row, prepared(metric, times(all, -1)), prepared(metric, alternating)}) {
      check::check_pair(metric, {same.query, row, same.reference}, true);
    }
  }
}
