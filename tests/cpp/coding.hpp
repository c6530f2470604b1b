// SPDX-License-Identifier: Apache-2.0
// Stored forms of a vector again, slowly and one component at a time: halves by looking for the nearest, int8
// codes by dividing and rounding, nibbles by their place.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "codecs/codec.hpp"
#include "codecs/int8.hpp"

namespace evidex::reference {

/// From a half's three fields; no NaN.
inline float half_value(std::uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const int fraction = half & 1023;
  const double size = exponent == 31  ? std::numeric_limits<double>::infinity()
                      : exponent == 0 ? std::ldexp(fraction, -24)
                                      : std::ldexp(1024 + fraction, exponent - 25);
  return static_cast<float>((half & 0x8000) != 0 ? -size : size);
}

/// The half whose value lies nearest, the even one of two; halves grow with their bits.
inline std::uint16_t nearest_half(float value) {
  constexpr int kInfinity = 0x7C00;
  const double size = std::fabs(static_cast<double>(value));
  int below = 0;
  for (int step = 0x4000; step > 0; step /= 2) {
    const int next = below + step;
    if (next < kInfinity && static_cast<double>(half_value(static_cast<std::uint16_t>(next))) <= size) below = next;
  }
  // What follows the largest half, as far as rounding is concerned, is 65536.
  const double lower = half_value(static_cast<std::uint16_t>(below));
  const double upper = below + 1 == kInfinity ? 65536.0 : half_value(static_cast<std::uint16_t>(below + 1));
  const double middle = (lower + upper) / 2;
  const bool up = size > middle || (size == middle && below % 2 != 0);
  return static_cast<std::uint16_t>((up ? below + 1 : below) | (std::signbit(value) ? 0x8000 : 0));
}

struct Code {
  float scale = 0;
  std::vector<int> whole;  // in [-127, 127]
};

/// The smallest number of so many significant bits that is not below `value`.
inline float rounded_up(float value, int bits) {
  int exponent = 0;
  const double fraction = std::frexp(static_cast<double>(value), &exponent);
  return static_cast<float>(std::ldexp(std::ceil(std::ldexp(fraction, bits)), exponent - bits));
}

/// The definition: the scale is what makes the largest magnitude 127, rounded up to 8 bits, each component the
/// nearest whole number, and all are 0 where 1 / scale could overflow.
inline Code code_of(const float* row, const float* reference, std::size_t dim) {
  Code code;
  float largest = 0;
  for (std::size_t i = 0; i < dim; ++i) largest = std::max(largest, std::fabs(row[i] - reference[i]));
  const bool usable = largest >= 0x1p-100F;
  code.scale = usable ? rounded_up(largest / 127.0F, 8) : 0.0F;
  for (std::size_t i = 0; i < dim; ++i) {
    const float wanted = (row[i] - reference[i]) * (1.0F / code.scale);
    code.whole.push_back(usable ? static_cast<int>(std::nearbyint(wanted)) : 0);
  }
  return code;
}

/// Component i's nibble of a plane.
inline int nibble(const std::uint8_t* plane, std::size_t bytes, std::size_t i) {
  const int both = plane[i % bytes];
  return i < bytes ? both % 16 : both / 16;
}

/// A prepared row as a store of the codec gives it back.
inline std::vector<float> stored(std::vector<float> row, codecs::Codec codec) {
  if (codec == codecs::Codec::float16) {
    for (float& value : row) value = half_value(nearest_half(value));
  } else if (codec == codecs::Codec::int8) {
    const std::vector<float> zeros(row.size());
    const Code code = code_of(row.data(), zeros.data(), row.size());
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = code.scale * static_cast<float>(code.whole[i]);
  }
  return row;
}

}  // namespace evidex::reference
