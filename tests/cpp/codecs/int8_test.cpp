// SPDX-License-Identifier: Apache-2.0
// What is kept of a coded row: its planes, and norms that are not too small and hardly too large.
//
// P7, B10. Seen red with: residuals or norms times 0.9, a norm packed to eight bits, a residual packed downward,
// components measured in float, 16 in place of 15 in the high plane's offset, a least scale of 2^-140.
#include "codecs/int8.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "check.hpp"
#include "codecs/pair.hpp"
#include "random.hpp"

namespace {

using namespace evidex;
using check::Coded;
using check::Pair;
using check::Random;
using check::Wide;
using kernels::kMetrics;

constexpr std::size_t kCosine = kernels::definitions::Cosine::id;

std::vector<float> random_vector(std::size_t dim, float size, Random& random) {
  std::vector<float> v(dim);
  for (float& x : v) x = random.real() * size;
  v[random.below(dim)] = size;
  return v;
}

std::vector<float> unit(std::vector<float> v) { return reference::unit<reference::LibraryFma>(std::move(v)); }

std::vector<float> opposite(std::vector<float> v) {
  for (float& x : v) x = -x;
  return v;
}

void expect_just_above(float found, Wide wanted, Wide room) {
  CHECK(found >= wanted);
  CHECK(found <= wanted * (1 + 0x1p-20L) + room);
}

void check_facts(std::size_t dim, float size, bool centred, bool code_only, Random& random) {
  const Pair pair{std::vector<float>(dim, 1), random_vector(dim, size, random),
                  centred ? random_vector(dim, size, random) : std::vector<float>(dim)};
  for (const kernels::Table* table : check::runnable_tables()) {
    const check::Note note(table->isa, ", dim ", dim, ", size ", size, code_only ? ", code only" : "");
    const Coded coded(*table, kMetrics[0], pair, code_only);
    const reference::Code code = reference::code_of(pair.row.data(), pair.reference.data(), dim);
    CHECK_BITS(coded.facts.scale, code.scale);
    const std::vector<Wide> full = coded.decoded(coded.full);
    const std::vector<Wide> high = coded.decoded(coded.high);
    for (std::size_t i = 0; i < dim; ++i) {
      CHECK(full[i] == Wide{code.scale} * code.whole[i]);
      CHECK(std::fabs(high[i] - full[i]) <= 8 * Wide{code.scale});
      if (code_only) CHECK_BITS(coded.pair.row[i], code.scale * static_cast<float>(code.whole[i]));
    }
    expect_just_above(coded.facts.norm, check::norm(full), 0x1p-149L);
    expect_just_above(coded.facts.high_norm, check::norm(high), 0x1p-149L);
    const Wide rounding = 0x1p-46L * size * std::sqrt(static_cast<Wide>(dim)) + 0x1p-149L;
    expect_just_above(coded.facts.residual, coded.row_lost(coded.full), rounding);
    expect_just_above(coded.facts.high_residual, coded.row_lost(coded.high), rounding);
  }
}

/// The score of a query and a row that is kept as its code alone.
float code_only_score(const std::vector<float>& query, const std::vector<float>& row) {
  const std::vector<float> kept = reference::stored(unit(row), codecs::Codec::int8);
  const std::vector<float> q = unit(query);
  return reference::kQuick[kCosine](q.data(), kept.data(), kept.size());
}

}  // namespace

TEST(facts_of_a_row) {
  Random random(check::seed(), "facts");
  for (const std::size_t dim : {1U, 2U, 15U, 16U, 17U, 31U, 32U, 33U, 100U, 384U, 4097U}) {
    for (const float size : {1.0F, 1e-40F, 0x1p-100F, 0x1.fffffep-101F, 0x1p-60F, 1e12F, 0x1p55F}) {
      for (std::size_t again = check::times(2, 50); again > 0; --again) {
        check_facts(dim, size, true, false, random);
        check_facts(dim, size, false, false, random);
        check_facts(dim, size, false, true, random);
      }
    }
  }
}

TEST(packed_facts_keep_scale_and_norm_and_round_the_residual_up) {
  Random random(check::seed(), "pack");
  for (std::size_t i = check::times(20000, 1000000); i > 0; --i) {
    const float scale = reference::rounded_up(std::fabs(random.with_exponent(-107, 60)), 8);
    const float norm = random.one_in(20) ? 0.0F : std::fabs(random.with_exponent(-149, 70));
    const float residual = random.one_in(20) ? 0.0F : std::fabs(random.with_exponent(-149, 70));
    const kernels::RowFacts packed = codecs::pack(scale, norm, residual);
    for (const kernels::Table* table : check::runnable_tables()) {
      float unpacked[3];
      table->codes.unpack(&packed, 1, &unpacked[0], &unpacked[1], &unpacked[2]);
      CHECK_BITS(unpacked[0], scale);
      CHECK_BITS(unpacked[1], norm);
      CHECK(unpacked[2] >= residual);
      CHECK(unpacked[2] <= residual * (1.0F + 0x1p-7F) + 0x1p-133F);
      if (residual == 0) CHECK_BITS(unpacked[2], 0.0F);
    }
  }
}

TEST(planes_hold_every_component_and_whole_registers) {
  for (std::size_t dim = 1; dim <= 1000; ++dim) {
    const std::size_t bytes = codecs::plane_bytes(dim);
    CHECK(2 * bytes >= dim);
    CHECK(2 * bytes < dim + 32);
    CHECK_EQ(bytes % 16, 0U);
  }
  CHECK_EQ(codecs::plane_bytes(codecs::kMostCodedDim), codecs::kMostCodedDim / 2);
}

TEST(b10_opposite_vectors_stay_opposite) {
  Random random(check::seed(), "opposite");
  std::vector<std::vector<float>> given{{0.5F, 0.5F}, {-0.5F, -0.5F}, {0.5F, -0.5F}, {1.0F}};
  for (const std::size_t dim : {3U, 33U, 384U}) {
    given.push_back(random_vector(dim, 1, random));
    given.push_back(given.back());
    for (float& x : given.back()) x = std::fabs(x) + 0.01F;  // all positive, and all negative below
    given.push_back(opposite(given.back()));
  }
  for (const std::vector<float>& v : given) {
    CHECK(std::fabs(code_only_score(v, opposite(v)) + 1) <= 0.02F);
    CHECK(std::fabs(code_only_score(v, v) - 1) <= 0.02F);
    const Pair pair{unit(v), unit(opposite(v)), std::vector<float>(v.size())};
    for (const kernels::Table* table : check::runnable_tables()) {
      const Coded coded(*table, kMetrics[kCosine], pair, true);
      CHECK(std::fabs(coded.full.estimate + 1) <= 0.02F);
      CHECK(coded.high.upper >= coded.score && coded.high.upper < -0.5F);
    }
  }
}

TEST(b10_codes_keep_the_order_of_scores_further_apart_than_their_steps) {
  Random random(check::seed(), "order");
  constexpr std::size_t kDim = 48;
  std::size_t compared = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::vector<float> query = unit(random_vector(kDim, 1, random));
    const std::vector<float> a = unit(random_vector(kDim, 1, random));
    const std::vector<float> b = unit(random_vector(kDim, 1, random));
    // Each component of a row is off by half a step of 1/127 of its largest at most.
    const Wide margin = std::sqrt(static_cast<Wide>(kDim)) * 1.01L / 127;
    const Wide apart = check::product(check::wide(query), check::minus(check::wide(a), check::wide(b)));
    if (std::fabs(apart) < margin) continue;
    ++compared;
    CHECK_EQ(code_only_score(query, a) > code_only_score(query, b), apart > 0);
  }
  CHECK(compared > 500);
}
