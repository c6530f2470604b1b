// SPDX-License-Identifier: Apache-2.0
// The multiply-add of every instruction set against the C library's, on millions of bit patterns. A
// kernel of 17 dimensions exposes it: lane 0 first becomes c * 1 and then a * b + c, and the other
// lanes add zeros to it.
//
// P5. Seen red with the rounding to odd in scalar.cpp left out, and with its direction inverted.
#include <array>
#include <cmath>
#include <string_view>

#include "check.hpp"
#include "kernels/tables.hpp"
#include "random.hpp"

namespace {

using namespace evidex;

constexpr std::size_t kDim = 17;
constexpr std::size_t kRows = 64;

/// One a and c with 64 values of b.
class Trial {
 public:
  float a = 0;
  float c = 0;
  std::array<float, kRows> b{};

  void run(const kernels::Table& table) {
    query_[0] = c;
    query_[kDim - 1] = a;
    for (std::size_t r = 0; r < kRows; ++r) {
      rows_[r * kDim] = 1;
      rows_[r * kDim + kDim - 1] = b[r];
    }
    std::array<float, kRows> scores;
    constexpr std::size_t kProduct = kernels::definitions::InnerProduct::id;
    table.metrics[kProduct].scan(query_.data(), rows_.data(), kDim, kRows, kDim, scores.data());
    for (std::size_t r = 0; r < kRows; ++r) {
      const float expected = std::fma(a, b[r], c) + 0.0F;
      if (!std::isfinite(expected)) continue;  // refused at entry
      if (std::bit_cast<std::uint32_t>(expected) == std::bit_cast<std::uint32_t>(scores[r])) continue;
      const check::Note note(table.isa, ": fma(", check::show(a), ", ", check::show(b[r]), ", ", check::show(c), ")");
      CHECK_BITS(scores[r], expected);
    }
  }

 private:
  std::array<float, kDim> query_{};
  std::array<float, kRows * kDim> rows_{};
};

/// Half a million patterns from `fill` on each instruction set (2 million in all cases together).
template <class Fill>
void check_many(std::string_view stream, Fill fill) {
  check::Random random(check::seed(), stream);
  const auto tables = check::runnable_tables();
  Trial trial;
  for (std::size_t i = check::times(500000, 20000000) / kRows; i > 0; --i) {
    fill(trial, random);
    for (const kernels::Table* table : tables) trial.run(*table);
  }
}

}  // namespace

TEST(any_bits) {
  check_many("any bits", [](Trial& t, check::Random& random) {
    t.a = random.finite();
    t.c = random.finite();
    for (float& b : t.b) b = random.finite();
  });
}

TEST(results_that_are_subnormal) {
  check_many("subnormal", [](Trial& t, check::Random& random) {
    t.a = random.with_exponent(-80, -55);
    t.c = random.with_exponent(-149, -125);
    for (float& b : t.b) b = random.with_exponent(-80, -60);
  });
}

TEST(ties_and_what_breaks_them) {
  // 12 by 13 bits make products of 25: one more than a float holds. c is none, or far below.
  check_many("ties", [](Trial& t, check::Random& random) {
    const auto bits = [&](int n) { return static_cast<float>(random.between(1 << (n - 1), (1 << n) - 1)); };
    t.a = bits(12);
    const float breakers[] = {0.0F, 0x1p-149F, -0x1p-149F, 0x1p-30F, -0x1p-30F, 0x1p-3F, -0x1p-3F};
    t.c = breakers[random.below(7)];
    for (float& b : t.b) b = random.one_in(2) ? bits(13) : -bits(13);
  });
}

TEST(sums_that_cancel) {
  check_many("cancel", [](Trial& t, check::Random& random) {
    t.a = random.with_exponent(-20, 20);
    const float centre = random.with_exponent(-20, 20);
    t.c = -(t.a * centre);
    for (float& b : t.b) b = centre * (1.0F + static_cast<float>(random.between(-4, 4)) * 0x1p-23F);
  });
}
