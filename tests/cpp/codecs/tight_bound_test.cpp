// SPDX-License-Identifier: Apache-2.0
// Pairs whose score comes so close to its bound that a bound with a tenth less slack would be below it. Each part of
// the slack has one: what the row lost, at either level; what the query lost; the rounding of the canonical sum.
//
// P7. Seen red with: residuals times 0.9 at either level, per_residual or per_norm times 0.9, norms times 0.9, no
// canonical rounding, shrink at 1, a norm packed to eight bits.
#include <cmath>
#include <vector>

#include "check.hpp"
#include "codecs/pair.hpp"
#include "random.hpp"

namespace {

using namespace evidex;
using check::Coded;
using check::Level;
using check::Pair;
using check::Random;
using check::Wide;
using kernels::kMetrics;

constexpr std::size_t kProduct = kernels::definitions::InnerProduct::id;
constexpr std::size_t kDistance = kernels::definitions::SquaredL2::id;
constexpr float kRest = 0.45F;  // of a step: what rounding to a whole number loses

/// Random signs and, up to `most`, whole numbers. The first is 127, so that the scale is 1 and the code exact.
std::vector<float> whole_numbers(std::size_t dim, int most, Random& random) {
  std::vector<float> v(dim);
  for (float& x : v) x = random.whole(most);
  v[0] = 127;
  return v;
}

std::vector<float> signs(std::size_t dim, float size, Random& random) {
  std::vector<float> v(dim);
  for (float& x : v) x = random.one_in(2) ? size : -size;
  v[0] = 0;
  return v;
}

std::vector<float> sum(std::vector<float> a, const std::vector<float>& b, float factor = 1) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += factor * b[i];
  return a;
}

/// The same numbers on another scale, a power of two, about another reference.
Pair placed(Pair pair, std::size_t metric, float scale, float centre) {
  for (auto* v : {&pair.query, &pair.row}) {
    for (float& x : *v) x *= scale;
  }
  pair.reference.assign(pair.row.size(), centre * scale);
  pair.row = sum(std::move(pair.row), pair.reference);
  if (metric == kDistance) pair.query = sum(std::move(pair.query), pair.reference);
  return pair;
}

/// Holds, and would not with `part`, a share of the slack of that kind, taken off the bound.
template <class Part>
void expect_tight(std::size_t metric, const Pair& pair, Level Coded::* level, Part part) {
  check::check_pair(kMetrics[metric], pair);
  for (const kernels::Table* table : check::runnable_tables()) {
    const Coded coded(*table, kMetrics[metric], pair);
    const check::Note note(table->isa, ", dim ", pair.row.size(), ", score ", check::show(coded.score), ", upper ",
                           check::show((coded.*level).upper));
    CHECK(Wide{(coded.*level).upper} - part(coded) < Wide{coded.score});
  }
}

/// For a distance d the bound is (d - r)^2: a tenth less of r makes it larger by about that.
Wide distance_part(const Coded& coded, Wide lost) { return 0.1L * 2 * std::sqrt(std::fabs(coded.exact())) * lost; }

template <class Body>
void for_each_place(const char* stream, Body body) {
  Random random(check::seed(), stream);
  for (const std::size_t dim : {64U, 65U, 384U, 4096U}) {
    for (const float scale : {1.0F, 0x1p-40F, 0x1p40F}) {
      for (const float centre : {0.0F, 32.0F}) body(dim, scale, centre, random);
    }
  }
}

}  // namespace

TEST(a_query_along_what_both_planes_lose) {
  for_each_place("both", [](std::size_t dim, float scale, float centre, Random& random) {
    const std::vector<float> code = whole_numbers(dim, 90, random);
    const std::vector<float> rest = signs(dim, kRest, random);
    const Pair along{sum(std::vector<float>(dim), rest, 127 / kRest), sum(code, rest), {}};
    expect_tight(kProduct, placed(along, kProduct, scale, centre), &Coded::full,
                 [](const Coded& c) { return 0.1L * check::norm(check::wide(c.pair.query)) * c.row_lost(c.full); });
    const Pair beyond{sum(code, rest, 20 / kRest), sum(code, rest), {}};
    expect_tight(kDistance, placed(beyond, kDistance, scale, centre), &Coded::full,
                 [](const Coded& c) { return distance_part(c, c.row_lost(c.full)); });
  });
}

TEST(a_query_along_what_the_high_plane_loses) {
  for_each_place("high", [](std::size_t dim, float scale, float centre, Random& random) {
    // The code 16 * (u - 8) lies eight below what its high nibble stands for.
    std::vector<float> code = whole_numbers(dim, 5, random);
    for (std::size_t i = 1; i < dim; ++i) code[i] *= 16;
    std::vector<float> rest(dim, -8);
    rest[0] = 0;
    const Pair along{sum(std::vector<float>(dim), rest, 127.0F / 8), code, {}};
    expect_tight(kProduct, placed(along, kProduct, scale, centre), &Coded::high,
                 [](const Coded& c) { return 0.1L * check::norm(check::wide(c.pair.query)) * c.row_lost(c.high); });
    const Pair beyond{sum(code, rest, 4), code, {}};
    expect_tight(kDistance, placed(beyond, kDistance, scale, centre), &Coded::high,
                 [](const Coded& c) { return distance_part(c, c.row_lost(c.high)); });
  });
}

TEST(a_row_along_what_the_query_loses) {
  for_each_place("query", [](std::size_t dim, float scale, float centre, Random& random) {
    const std::vector<float> code = whole_numbers(dim, 90, random);
    const std::vector<float> rest = signs(dim, kRest, random);
    const Pair pair{sum(code, rest), sum(std::vector<float>(dim), rest, 127 / kRest), {}};
    for (const std::size_t metric : {kProduct, kDistance}) {
      expect_tight(metric, placed(pair, metric, scale, centre), &Coded::full, [&](const Coded& c) {
        return (metric == kDistance ? 0.2L : 0.1L) * c.query_lost() * check::norm(c.decoded(c.full));
      });
    }
  });
}

TEST(a_canonical_sum_that_always_rounds_up) {
  // While a lane's sum lies in [2^8, 2^9), a little more than 1 and half a last place is added each time.
  constexpr std::size_t kDim = 8192;
  Pair pair{std::vector<float>(kDim, (1.0F + 0x1p-16F + 0x1p-20F) / 64), std::vector<float>(kDim, 64.0F),
            std::vector<float>(kDim)};
  pair.query[0] = 0;
  pair.row[0] = 127;
  // Without what the bound allows for one rounding per 16 components.
  expect_tight(kProduct, pair, &Coded::full, [](const Coded& c) {
    return 0x1p-15L * check::norm(check::wide(c.pair.query)) * check::norm(check::wide(c.pair.row));
  });
}

TEST(a_canonical_distance_that_always_rounds_down) {
  // The same with a little less than half a last place while a lane's sum lies in [2^10, 2^11).
  constexpr std::size_t kDim = 32768;
  const Pair pair{std::vector<float>(kDim, 1.0F + 0x1p-15F - 0x1p-19F), std::vector<float>(kDim),
                  std::vector<float>(kDim)};
  expect_tight(kDistance, pair, &Coded::full, [](const Coded& c) { return 0x1p-13L * std::fabs(c.exact()); });
}
