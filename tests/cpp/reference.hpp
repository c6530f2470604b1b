// SPDX-License-Identifier: Apache-2.0
// The definitions again, slowly and from first principles, to compare the library with.
//
// A fused multiply-add is done here in whole numbers of 576 bits and rounded once, so neither the
// processor's arithmetic nor its rounding state has a say. Sums and differences are the same operation
// with a factor of one. The C library's std::fma serves where the exact one would take too long; a test
// of its own compares the two.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/metrics.hpp"
#include "kernels/type_list.hpp"

namespace evidex::reference {

/// Magnitudes as multiples of 2^-298, the smallest product of two floats.
class Fixed {
 public:
  static constexpr int kUnit = -298;

  /// magnitude * 2^exponent
  Fixed(std::uint64_t magnitude, int exponent) {
    const auto shift = static_cast<std::size_t>(exponent - kUnit);
    const std::size_t within = shift % 64;
    limbs_[shift / 64] = magnitude << within;
    if (within != 0 && shift / 64 + 1 < limbs_.size()) limbs_[shift / 64 + 1] = magnitude >> (64 - within);
  }

  bool operator<(const Fixed& other) const {
    return std::lexicographical_compare(limbs_.rbegin(), limbs_.rend(), other.limbs_.rbegin(), other.limbs_.rend());
  }
  bool is_zero() const { return top() < 0; }

  void add(const Fixed& other) {
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < limbs_.size(); ++i) {
      const std::uint64_t partial = limbs_[i] + other.limbs_[i];
      const std::uint64_t sum = partial + carry;
      carry = (partial < limbs_[i] || sum < partial) ? 1 : 0;
      limbs_[i] = sum;
    }
  }
  /// `other` must not be larger.
  void subtract(const Fixed& other) {
    std::uint64_t borrow = 0;
    for (std::size_t i = 0; i < limbs_.size(); ++i) {
      const std::uint64_t partial = limbs_[i] - other.limbs_[i];
      const std::uint64_t difference = partial - borrow;
      borrow = (limbs_[i] < other.limbs_[i] || partial < borrow) ? 1 : 0;
      limbs_[i] = difference;
    }
  }

  /// Bits of the nearest float; ties go to the even one.
  std::uint32_t nearest() const {
    constexpr int kLeast = -149 - kUnit;  // the last place of a subnormal float
    const int last = std::max(top() - 23, kLeast);
    std::uint32_t kept = 0;
    for (int i = top(); i >= last; --i) kept = kept * 2 + bit(i);
    bool sticky = false;
    for (int i = 0; i + 1 < last; ++i) sticky = sticky || bit(i) != 0;
    if (bit(last - 1) != 0 && (sticky || (kept & 1) != 0)) ++kept;
    // The leading bit of `kept` adds the one that the exponent field lacks.
    const std::uint32_t bits = (static_cast<std::uint32_t>(last - kLeast) << 23) + kept;
    return std::min(bits, std::uint32_t{0x7F800000});
  }

 private:
  std::uint32_t bit(int i) const {
    const auto at = static_cast<std::size_t>(i);
    return static_cast<std::uint32_t>(limbs_[at / 64] >> (at % 64)) & 1;
  }
  int top() const {
    for (int limb = static_cast<int>(limbs_.size()) - 1; limb >= 0; --limb) {
      const std::uint64_t word = limbs_[static_cast<std::size_t>(limb)];
      if (word != 0) return 64 * limb + static_cast<int>(std::bit_width(word)) - 1;
    }
    return -1;
  }

  std::array<std::uint64_t, 9> limbs_{};
};

struct Parts {
  bool negative;
  std::uint64_t magnitude;
  int exponent;
};

inline Parts take_apart(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const int field = static_cast<int>((bits >> 23) & 0xFF);
  const std::uint64_t fraction = bits & 0x7FFFFF;
  return {(bits >> 31) != 0, field == 0 ? fraction : fraction | 0x800000, std::max(field, 1) - 150};
}

/// a * b + c of finite floats, rounded once.
struct ExactFma {
  static float fused(float a, float b, float c) {
    const Parts x = take_apart(a);
    const Parts y = take_apart(b);
    const Parts z = take_apart(c);
    const bool product_negative = x.negative != y.negative;
    Fixed product(x.magnitude * y.magnitude, x.exponent + y.exponent);
    Fixed addend(z.magnitude, z.exponent);
    if (product_negative == z.negative) {
      product.add(addend);
      return with_sign(product.nearest(), z.negative);
    }
    const bool smaller = product < addend;
    Fixed& larger = smaller ? addend : product;
    larger.subtract(smaller ? product : addend);
    if (larger.is_zero()) return 0.0F;  // x - x is +0
    return with_sign(larger.nearest(), smaller ? z.negative : product_negative);
  }

 private:
  static float with_sign(std::uint32_t bits, bool negative) {
    return std::bit_cast<float>(bits | (negative ? 0x80000000U : 0U));
  }
};

struct LibraryFma {
  static float fused(float a, float b, float c) { return std::fma(a, b, c); }
};

/// Sixteen lanes over the dimension, zeros after its end, then added at distance 8, 4, 2, 1.
template <class Fma, class Step>
float lanes(const float* query, const float* row, std::size_t dim, Step step) {
  std::array<float, 16> sums{};
  const std::size_t padded = (dim + 15) / 16 * 16;
  for (std::size_t i = 0; i < padded; ++i) {
    const float q = i < dim ? query[i] : 0.0F;
    const float x = i < dim ? row[i] : 0.0F;
    sums[i % 16] = step(sums[i % 16], q, x);
  }
  for (const std::size_t distance : {8U, 4U, 2U, 1U}) {
    for (std::size_t i = 0; i < distance; ++i) sums[i] = Fma::fused(sums[i], 1.0F, sums[i + distance]);
  }
  return sums[0];
}

inline float without_negative_zero(float value) { return value == 0.0F ? 0.0F : value; }

/// A metric's formula; every metric needs a specialisation here.
template <class Metric>
struct Formula;

template <>
struct Formula<kernels::definitions::InnerProduct> {
  template <class Fma>
  static float score(const float* query, const float* row, std::size_t dim) {
    const auto step = [](float sum, float q, float x) { return Fma::fused(q, x, sum); };
    return without_negative_zero(lanes<Fma>(query, row, dim, step));
  }
};

template <>
struct Formula<kernels::definitions::Cosine> {
  template <class Fma>
  static float score(const float* query, const float* row, std::size_t dim) {
    const float product = Formula<kernels::definitions::InnerProduct>::score<Fma>(query, row, dim);
    return std::clamp(product, -1.0F, 1.0F);
  }
};

template <>
struct Formula<kernels::definitions::SquaredL2> {
  template <class Fma>
  static float score(const float* query, const float* row, std::size_t dim) {
    const auto step = [](float sum, float q, float x) {
      const float difference = Fma::fused(q, 1.0F, -x);
      return Fma::fused(difference, difference, sum);
    };
    return without_negative_zero(-lanes<Fma>(query, row, dim, step));
  }
};

template <class Metric>
concept HasFormula = requires(const float* v) { Formula<Metric>::template score<LibraryFma>(v, v, std::size_t{1}); };

using Score = float (*)(const float* query, const float* row, std::size_t dim);

template <class Fma, class... Metrics>
constexpr auto formulas(kernels::TypeList<Metrics...>) {
  static_assert((HasFormula<Metrics> && ...), "a metric has no formula: specialise Formula in tests/cpp/reference.hpp");
  return std::array<Score, sizeof...(Metrics)>{&Formula<Metrics>::template score<Fma>...};
}

/// By metric number.
inline constexpr auto kExact = formulas<ExactFma>(kernels::definitions::Metrics{});
inline constexpr auto kQuick = formulas<LibraryFma>(kernels::definitions::Metrics{});

/// A row as a metric with unit rows stores it.
template <class Fma>
std::vector<float> unit(std::vector<float> row) {
  float largest = 0;
  for (const float value : row) largest = std::max(largest, std::fabs(value));
  int exponent = 0;
  (void)std::frexp(largest, &exponent);  // largest is in [1/2, 1) * 2^exponent
  for (float& value : row) value = static_cast<float>(std::ldexp(static_cast<double>(value), 1 - exponent));
  const float squared = Formula<kernels::definitions::InnerProduct>::score<Fma>(row.data(), row.data(), row.size());
  const float norm = std::sqrt(squared);
  for (float& value : row) value /= norm;
  return row;
}

struct Scored {
  float score;
  std::int64_t id;
};

/// The total order by sorting everything: score descending, then id ascending.
inline std::vector<Scored> ranked(std::vector<Scored> all) {
  std::sort(all.begin(), all.end(), [](const Scored& a, const Scored& b) {
    if (a.score != b.score) return a.score > b.score;
    return a.id < b.id;
  });
  return all;
}

}  // namespace evidex::reference
