// SPDX-License-Identifier: Apache-2.0
// The reference itself: whole-number arithmetic against the C library's, on inputs picked to round,
// tie, cancel and underflow.
#include "reference.hpp"

#include <cmath>
#include <initializer_list>
#include <limits>

#include "check.hpp"
#include "random.hpp"

namespace {

using namespace evidex;

void compare(float a, float b, float c) {
  const float library = std::fma(a, b, c);
  const float exact = reference::ExactFma::fused(a, b, c);
  if (std::bit_cast<std::uint32_t>(library) != std::bit_cast<std::uint32_t>(exact)) {
    const check::Note note("fma(", check::show(a), ", ", check::show(b), ", ", check::show(c), ")");
    CHECK_BITS(library, exact);
  }
}

}  // namespace

TEST(exact_and_library_agree_on_any_bits) {
  check::Random random(check::seed(), "any bits");
  for (std::size_t i = check::times(200000, 5000000); i > 0; --i)
    compare(random.finite(), random.finite(), random.finite());
}

TEST(exact_and_library_agree_near_cancellation_and_underflow) {
  check::Random random(check::seed(), "near");
  for (std::size_t i = check::times(100000, 5000000); i > 0; --i) {
    const float a = random.with_exponent(-80, -60);
    const float b = random.with_exponent(-80, -60);
    compare(a, b, random.with_exponent(-149, -120));
    compare(a, b, -(a * b));
    const float d = random.with_exponent(-5, 5);
    const float e = random.with_exponent(-5, 5);
    compare(d, e, -std::nextafter(d * e, 0.0F));
    compare(d, e, random.with_exponent(-30, 30));
  }
}

TEST(exact_and_library_agree_on_corners) {
  constexpr float kMax = std::numeric_limits<float>::max();
  constexpr float kMin = std::numeric_limits<float>::min();
  constexpr float kTiny = std::numeric_limits<float>::denorm_min();
  const std::initializer_list<float> corners = {0.0F,  -0.0F, 1.0F,   -1.0F, kMax,  -kMax,           kMin,
                                                -kMin, kTiny, -kTiny, 0.5F,  -0.5F, 1.0F + 0x1p-23F, 1.0F - 0x1p-24F,
                                                3.0F};
  for (const float a : corners) {
    for (const float b : corners) {
      for (const float c : corners) compare(a, b, c);
    }
  }
}

TEST(known_sums_by_hand) {
  // 1 + 2^-24 is a tie between 1 and 1 + 2^-23: to even. A little more decides upward.
  CHECK_BITS(reference::ExactFma::fused(0x1p-12F, 0x1p-12F, 1.0F), 1.0F);
  CHECK_BITS(reference::ExactFma::fused(0x1.000002p-12F, 0x1p-12F, 1.0F), 1.0F + 0x1p-23F);
  CHECK_BITS(reference::ExactFma::fused(0x1p-75F, 0x1p-75F, 0.0F), 0.0F);  // half of the least: even
  CHECK_BITS(reference::ExactFma::fused(0x1.8p-75F, 0x1p-75F, 0.0F), 0x1p-149F);
  const float q[3] = {1, 2, 3};
  const float x[3] = {4, -5, 6};
  CHECK_BITS(reference::kExact[0](q, x, 3), 12.0F);
  CHECK_BITS(reference::kExact[1](q, x, 3), 1.0F);
  CHECK_BITS(reference::kExact[2](q, x, 3), -67.0F);
  // Lane 0 loses the 1 of element 16 to a tie, gains the 2 of lane 8 first and the 1 of lane 1 last:
  // a tie again, between 2 and 4, and 4 is the even one.
  float ones[17];
  float row[17] = {};
  for (float& one : ones) one = 1;
  row[0] = 0x1p24F;
  row[16] = 1;
  row[1] = 1;
  row[8] = 2;
  CHECK_BITS(reference::kExact[0](ones, row, 17), 0x1p24F + 4);
}

TEST(ranking_is_score_then_id) {
  const auto ranked = reference::ranked({{1, 5}, {2, 9}, {1, 3}, {2, 1}});
  CHECK_EQ(ranked[0].id, 1);
  CHECK_EQ(ranked[1].id, 9);
  CHECK_EQ(ranked[2].id, 3);
  CHECK_EQ(ranked[3].id, 5);
}
