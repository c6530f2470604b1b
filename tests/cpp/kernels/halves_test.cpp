// SPDX-License-Identifier: Apache-2.0
// float16 on every instruction set against looking for the nearest half: all 65,536 of them, everything halfway
// between two, and random floats.
//
// P7. Seen red with: ties rounded up and subnormal halves cut off in scalar.cpp.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "check.hpp"
#include "coding.hpp"
#include "kernels/tables.hpp"
#include "random.hpp"

namespace {

using namespace evidex;
using check::Random;

constexpr int kInfinity = 0x7C00;

void compare(const std::vector<float>& values) {
  std::vector<std::uint16_t> expected;
  for (const float value : values) expected.push_back(reference::nearest_half(value));
  for (const kernels::Table* table : check::runnable_tables()) {
    std::vector<std::uint16_t> halves(values.size());
    table->halves.narrow(values.data(), values.size(), halves.data());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (halves[i] == expected[i]) continue;
      const check::Note note(table->isa, ", of ", check::show(values[i]));
      CHECK_EQ(halves[i], expected[i]);
    }
  }
}

/// Both signs.
void compare_with_signs(std::vector<float> values) {
  compare(values);
  for (float& value : values) value = -value;
  compare(values);
}

}  // namespace

TEST(all_halves_widen_to_their_value) {
  std::vector<std::uint16_t> halves;
  for (int half = 0; half < 0x10000; ++half) halves.push_back(static_cast<std::uint16_t>(half));
  for (const kernels::Table* table : check::runnable_tables()) {
    std::vector<float> values(halves.size());
    table->halves.widen(halves.data(), halves.size(), values.data());
    for (std::size_t i = 0; i < halves.size(); ++i) {
      if ((halves[i] & 0x7FFF) > kInfinity) {
        CHECK(std::isnan(values[i]));
      } else {
        CHECK_BITS(values[i], reference::half_value(halves[i]));
      }
    }
  }
}

TEST(every_half_narrows_to_itself_and_a_tie_to_the_even_one) {
  std::vector<float> values;
  for (int half = 0; half < kInfinity; ++half) {
    const float value = reference::half_value(static_cast<std::uint16_t>(half));
    const float next = half + 1 < kInfinity ? reference::half_value(static_cast<std::uint16_t>(half + 1)) : 65536.0F;
    const float middle = value + (next - value) / 2;
    CHECK_EQ(reference::nearest_half(value), half);
    CHECK_EQ(reference::nearest_half(middle), half % 2 == 0 ? half : half + 1);
    for (const float v : {value, middle, std::nextafter(middle, 0.0F), std::nextafter(middle, next)}) {
      values.push_back(v);
    }
  }
  compare_with_signs(values);
}

TEST(random_floats_of_every_exponent) {
  Random random(check::seed(), "halves");
  std::vector<float> values;
  for (int exponent = -149; exponent < 128; ++exponent) {
    for (std::size_t i = check::times(300, 30000); i > 0; --i)
      values.push_back(random.with_exponent(exponent, exponent));
  }
  compare_with_signs(values);
}

TEST(too_large_becomes_infinity_and_too_small_zero) {
  constexpr float kMax = std::numeric_limits<float>::max();
  constexpr float kEndless = std::numeric_limits<float>::infinity();
  compare_with_signs({0.0F, 65504.0F, 65519.996F, 65520.0F, 65536.0F, 1e10F, kMax, kEndless, 0x1p-24F, 0x1p-25F,
                      0x1.000002p-25F, 0x1p-26F, 0x1p-126F, 0x1p-149F});
  CHECK_EQ(reference::nearest_half(65519.996F), 0x7BFF);
  CHECK_EQ(reference::nearest_half(65520.0F), kInfinity);
  CHECK_EQ(reference::nearest_half(-0.0F), 0x8000);
}

TEST(any_count_is_converted_and_nothing_beyond) {
  Random random(check::seed(), "count");
  for (std::size_t n = 0; n <= 70; ++n) {
    std::vector<float> values;
    for (std::size_t i = 0; i < n; ++i) values.push_back(random.with_exponent(-30, 17));
    for (const kernels::Table* table : check::runnable_tables()) {
      const check::Note note(table->isa, ", ", n, " values");
      std::vector<std::uint16_t> halves(n + 1, 0xABCD);
      table->halves.narrow(values.data(), n, halves.data());
      std::vector<float> back(n + 1, 77);
      table->halves.widen(halves.data(), n, back.data());
      for (std::size_t i = 0; i < n; ++i) {
        CHECK_EQ(halves[i], reference::nearest_half(values[i]));
        CHECK_BITS(back[i], reference::half_value(halves[i]));
      }
      CHECK_EQ(halves[n], 0xABCD);
      CHECK_BITS(back[n], 77.0F);
    }
  }
}
