// SPDX-License-Identifier: Apache-2.0
// No row's canonical score is above the bound of its code: random pairs of many kinds, and corners.
//
// P7. Seen red with: residuals times 0.9 at either level, norms times 0.9, per_residual or per_norm times 0.9, a
// norm packed to eight bits, a residual packed downward, 16 in place of 15 in the high plane's offset, what the
// bound allows for the reference left out, kUnderflow at 0, `positive` left out around the least distance.
#include "codecs/error_bound.hpp"

#include <cmath>
#include <vector>

#include "check.hpp"
#include "codecs/pair.hpp"
#include "random.hpp"

namespace {

using namespace evidex;
using check::Pair;
using check::Random;
using kernels::kMetrics;
using kernels::Metric;

constexpr std::size_t kDims[] = {1, 2, 3, 4, 15, 16, 17, 31, 32, 33, 64, 100, 129, 384};

enum class Kind { even, bell, constant, sparse, lone, many_exponents, tiny, huge, count };

std::vector<float> random_vector(std::size_t dim, Random& random) {
  const auto kind = static_cast<Kind>(random.below(static_cast<std::size_t>(Kind::count)));
  const float level = random.real();
  std::vector<float> v(dim);
  for (float& x : v) {
    x = random.real();
    if (kind == Kind::bell) x += random.real() + random.real() + random.real();
    if (kind == Kind::constant) x = level * (1.0F + x * 0x1p-18F);
    if (kind == Kind::sparse && !random.one_in(8)) x = 0;
    if (kind == Kind::many_exponents) x = random.with_exponent(-149, 30);
    if (kind == Kind::tiny) x = x * 1e-40F;
    if (kind == Kind::huge) x = x * 0x1p62F / std::sqrt(static_cast<float>(dim));
  }
  if (kind == Kind::lone) v[random.below(dim)] = random.with_exponent(5, 40);
  return v;
}

/// Within the limits of entry; under a metric with unit rows, of length 1.
std::vector<float> prepared(const Metric& metric, std::vector<float> v) {
  double squared = 0;
  for (const float x : v) squared += static_cast<double>(x) * static_cast<double>(x);
  if (metric.unit_rows) {
    if (squared == 0) v[0] = 1;
    return reference::unit<reference::LibraryFma>(std::move(v));
  }
  const double most = 0x1.6p62;
  if (squared > most * most) {
    for (float& x : v) x = static_cast<float>(static_cast<double>(x) * (most / std::sqrt(squared)));
  }
  return v;
}

std::vector<float> near(std::vector<float> v, float distance, Random& random) {
  for (float& x : v) x += x * distance * random.real();
  return v;
}

/// One of the three may be near another, equal to it or opposite.
Pair random_pair(const Metric& metric, std::size_t dim, Random& random) {
  Pair pair{random_vector(dim, random), random_vector(dim, random), random_vector(dim, random)};
  const float distances[] = {0.0F, 0x1p-20F, 0x1p-8F, 0.3F};
  if (random.one_in(3)) pair.row = near(pair.query, distances[random.below(4)], random);
  if (random.one_in(3)) pair.reference = near(pair.row, distances[random.below(4)], random);
  if (random.one_in(6)) pair.query = near(pair.reference, distances[random.below(4)], random);
  if (random.one_in(8)) {
    for (float& x : pair.row) x = -x;
  }
  pair.query = prepared(metric, std::move(pair.query));
  pair.row = prepared(metric, std::move(pair.row));
  pair.reference = prepared(metric, std::move(pair.reference));
  return pair;
}

/// One in three without a reference, and of those every other one as code-only storage keeps it.
void check_random(const Metric& metric, std::size_t dim, Random& random) {
  Pair pair = random_pair(metric, dim, random);
  const bool plain = random.one_in(3);
  if (plain) pair.reference.assign(dim, 0.0F);
  check::check_pair(metric, pair, plain && random.one_in(2));
}

}  // namespace

TEST(random_pairs_of_every_kind) {
  for (const Metric& metric : kMetrics) {
    Random random(check::seed(), "pairs", static_cast<std::uint64_t>(metric.id));
    for (std::size_t i = check::times(10000, 1000000); i > 0; --i) {
      const check::Note note("pair ", i);
      check_random(metric, kDims[random.below(std::size(kDims))], random);
    }
  }
}

TEST(long_rows) {
  for (const Metric& metric : kMetrics) {
    Random random(check::seed(), "long", static_cast<std::uint64_t>(metric.id));
    for (std::size_t i = check::times(30, 3000); i > 0; --i) {
      check_random(metric, random.one_in(2) ? 4096 : 4001, random);
    }
  }
}
