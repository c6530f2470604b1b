// SPDX-License-Identifier: Apache-2.0
// Which of 64 scores reach a threshold: an equal one does, because its id may win.
//
// P4, P7. Seen red with > in place of >= in either instruction set.
#include <array>
#include <cmath>
#include <limits>

#include "check.hpp"
#include "kernels/tables.hpp"
#include "random.hpp"

namespace {

using namespace evidex;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::uint64_t one_by_one(const float* scores, float threshold) {
  std::uint64_t bits = 0;
  for (unsigned i = 0; i < 64; ++i) {
    if (!(scores[i] < threshold) && !std::isnan(scores[i]) && !std::isnan(threshold)) bits |= std::uint64_t{1} << i;
  }
  return bits;
}

void compare(const float* scores, float threshold) {
  for (const kernels::Table* table : check::runnable_tables()) {
    const check::Note note(table->isa, ", threshold ", threshold);
    CHECK_EQ(table->reach(scores, threshold), one_by_one(scores, threshold));
  }
}

}  // namespace

TEST(random_scores_and_thresholds_among_them) {
  check::Random random(check::seed(), "reach");
  std::array<float, 64 + 8> storage;
  for (std::size_t i = check::times(20000, 500000); i > 0; --i) {
    float* scores = storage.data() + random.below(8);  // any alignment
    const bool few = random.one_in(2);
    for (std::size_t j = 0; j < 64; ++j) scores[j] = few ? random.whole(3) : random.finite();
    compare(scores, random.one_in(3) ? random.finite() : scores[random.below(64)]);
  }
}

TEST(each_position_alone) {
  for (std::size_t at = 0; at < 64; ++at) {
    std::array<float, 64> scores;
    scores.fill(-1);
    scores[at] = 1;
    compare(scores.data(), 1);
    compare(scores.data(), 0);
  }
}

TEST(infinities_zeros_and_not_a_number) {
  std::array<float, 64> scores;
  for (std::size_t i = 0; i < 64; ++i) {
    const float choices[] = {0.0F, -0.0F, kInfinity, -kInfinity, 1.0F, -1.0F, 0x1p-149F, std::nanf("")};
    scores[i] = choices[i % 8];
  }
  for (const float threshold : {0.0F, -0.0F, kInfinity, -kInfinity, 0x1p-149F, -0x1p-149F, std::nanf("")}) {
    compare(scores.data(), threshold);
  }
  std::array<float, 64> lowest;
  lowest.fill(-std::numeric_limits<float>::max());
  for (const kernels::Table* table : check::runnable_tables()) {
    CHECK_EQ(table->reach(lowest.data(), -kInfinity), ~std::uint64_t{0});
    CHECK_EQ(table->reach(lowest.data(), kInfinity), std::uint64_t{0});
  }
}
