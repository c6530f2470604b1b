// SPDX-License-Identifier: Apache-2.0
// Random inputs for the tests: the same on every machine for the same seed.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace evidex::check {

/// splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
class Random {
 public:
  /// Each case names its own stream, so that cases do not depend on which others ran.
  Random(std::uint64_t seed, std::string_view stream, std::uint64_t number = 0) : state_(seed ^ number) {
    for (const char c : stream) state_ = next() ^ static_cast<unsigned char>(c);
  }

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

  std::size_t below(std::size_t n) { return static_cast<std::size_t>(next() % n); }
  bool one_in(std::size_t n) { return below(n) == 0; }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::size_t>(high - low) + 1));
  }

  /// In [-1, 1), a multiple of 2^-23.
  float real() { return static_cast<float>(static_cast<std::int64_t>(next() >> 40) - (1 << 23)) * 0x1p-23F; }

  /// A random significand and sign with an exponent in [low, high]; -149 and up.
  float with_exponent(int low, int high) {
    const auto significand = static_cast<float>((next() >> 40) | (1 << 23));
    const float value = std::ldexp(significand, static_cast<int>(between(low, high)) - 23);
    return (next() & 1) != 0 ? -value : value;
  }

  /// A whole number in [-most, most]: few values, therefore many equal scores.
  float whole(int most) { return static_cast<float>(between(-most, most)); }

  /// Any finite bit pattern.
  float finite() {
    for (;;) {
      const float value = std::bit_cast<float>(static_cast<std::uint32_t>(next()));
      if (std::isfinite(value)) return value;
    }
  }

  template <class T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(i)]);
  }

 private:
  std::uint64_t state_;
};

}  // namespace evidex::check
