// SPDX-License-Identifier: Apache-2.0
// The reference instruction set: plain C++ for any processor. Its fused multiply-add is our own,
// because the C library's would call the hardware's and check nothing.
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/arch/tables.hpp"
#include "kernels/type_list.hpp"

namespace evidex::kernels::scalar {
namespace {

constexpr std::size_t kGatherRows = 1;
constexpr std::size_t kTileQueries = 1;
constexpr std::size_t kTileRows = 1;
constexpr std::size_t kNibbleQueries = 1;
constexpr std::size_t kNibbleRows = 1;
constexpr std::size_t kNibbleScanRows = 1;

/// a * b + c rounded once. The double product of two floats is exact; two-sum (Knuth) gives the
/// error of the double sum; rounding that sum to odd keeps what the final rounding to float needs
/// (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using
/// rounding to odd", IEEE Transactions on Computers, 2008).
inline float fused(float a, float b, float c) noexcept {
  const double product = static_cast<double>(a) * static_cast<double>(b);
  const double addend = static_cast<double>(c);
  const double sum = product + addend;
  const double shadow = sum - product;
  const double error = (product - (sum - shadow)) + (addend - shadow);
  if (error == 0.0) return static_cast<float>(sum);
  std::uint64_t bits = std::bit_cast<std::uint64_t>(sum);
  if ((bits & 1) == 0) bits += ((error > 0) == (sum > 0)) ? 1 : ~std::uint64_t{0};
  return static_cast<float>(std::bit_cast<double>(bits));
}

struct Part {
  static constexpr std::size_t width = 16;
  float v[width];

  static Part zero() noexcept { return Part{}; }
  static Part load(const float* p) noexcept { return load_tail(p, width); }
  static Part load_tail(const float* p, std::size_t n) noexcept {
    Part out{};
    for (std::size_t i = 0; i < n; ++i) out.v[i] = p[i];
    return out;
  }
  static Part keep(const Part& a) noexcept { return a; }
  static Part subtract(const Part& a, const Part& b) noexcept {
    Part out;
    for (std::size_t i = 0; i < width; ++i) out.v[i] = a.v[i] - b.v[i];
    return out;
  }
  static Part multiply_add(const Part& a, const Part& b, const Part& c) noexcept {
    Part out;
    for (std::size_t i = 0; i < width; ++i) out.v[i] = fused(a.v[i], b.v[i], c.v[i]);
    return out;
  }
  static float sum(const Part (&parts)[1]) noexcept {
    Part a = parts[0];
    for (std::size_t half = width / 2; half > 0; half /= 2) {
      for (std::size_t i = 0; i < half; ++i) a.v[i] += a.v[i + half];
    }
    return a.v[0];
  }
};

std::uint64_t reach(const float* scores, float threshold) noexcept {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < 64; ++i) bits |= std::uint64_t{scores[i] >= threshold} << i;
  return bits;
}

struct Nibbles {
  static constexpr std::size_t width = 16;
  const std::uint8_t* p;

  static Nibbles load(const std::uint8_t* bytes) noexcept { return {bytes}; }
  static Nibbles load_tail(const std::uint8_t* bytes, std::size_t) noexcept { return {bytes}; }
};

struct Factors {
  const std::int8_t* low;
  const std::int8_t* high;

  static Factors load(const std::int8_t* low, const std::int8_t* high) noexcept { return {low, high}; }
  static Factors load_tail(const std::int8_t* low, const std::int8_t* high, std::size_t) noexcept {
    return {low, high};
  }
};

struct NibbleSum {
  std::int32_t v;

  static NibbleSum zero() noexcept { return {0}; }
  void add(const Nibbles& row, const Factors& query) noexcept {
    for (std::size_t i = 0; i < Nibbles::width; ++i) {
      v += (row.p[i] & 15) * query.low[i] + (row.p[i] >> 4) * query.high[i];
    }
  }
  static void totals(const NibbleSum (&of)[1], std::int32_t* out) noexcept { *out = of[0].v; }
};

/// Sums of 64 rows that fit a byte.
struct LookupGroup {
  static constexpr std::size_t width = 1;  // positions
  std::array<std::uint8_t, kLookupRows> v;

  static LookupGroup zero() noexcept { return {{}}; }
  void add(const std::uint8_t* codes, const std::uint8_t* table) noexcept {
    for (std::size_t b = 0; b < kLookupBytes; ++b) {
      v[b] = static_cast<std::uint8_t>(v[b] + table[codes[b] & 15]);
      v[b + kLookupBytes] = static_cast<std::uint8_t>(v[b + kLookupBytes] + table[codes[b] >> 4]);
    }
  }
};

struct LookupSum {
  std::array<std::uint16_t, kLookupRows> v;

  static LookupSum zero() noexcept { return {{}}; }
  void add(const LookupGroup& group) noexcept {
    for (std::size_t i = 0; i < kLookupRows; ++i) v[i] = static_cast<std::uint16_t>(v[i] + group.v[i]);
  }
  void store(std::uint16_t* sums) const noexcept {
    for (std::size_t i = 0; i < kLookupRows; ++i) sums[i] = v[i];
  }
};

/// To nearest, ties to even. Below the smallest normal half the last place stands still, so adding a number
/// whose last place is that one rounds there.
std::uint16_t half_of(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const std::uint32_t size = bits & 0x7FFFFFFFU;
  if (size > 0x7F800000U) return static_cast<std::uint16_t>(sign | 0x7E00U);
  if (size >= 0x47800000U) return static_cast<std::uint16_t>(sign | 0x7C00U);  // 65536 and above
  if (size < 0x38800000U) {                                                    // below 2^-14
    const float shifted = std::bit_cast<float>(size) + 0.5F;                   // last place 2^-24
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3F000000U));
  }
  const std::uint32_t rounded = size + 0x0FFFU + ((size >> 13) & 1U);  // may carry into the exponent, up to infinity
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000U) >> 13));
}

float float_of(std::uint16_t half) noexcept {
  const std::uint32_t sign = std::uint32_t{half & 0x8000U} << 16;
  const std::uint32_t size = half & 0x7FFFU;
  if (size >= 0x7C00U) return std::bit_cast<float>(sign | 0x7F800000U | ((size & 0x03FFU) << 13));
  if (size >= 0x0400U) return std::bit_cast<float>(sign | ((size << 13) + 0x38000000U));
  const float tiny = static_cast<float>(size) * 0x1p-24F;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(tiny));
}

void narrow(const float* values, std::size_t n, std::uint16_t* halves) noexcept {
  for (std::size_t i = 0; i < n; ++i) halves[i] = half_of(values[i]);
}

void widen(const std::uint16_t* halves, std::size_t n, float* values) noexcept {
  for (std::size_t i = 0; i < n; ++i) values[i] = float_of(halves[i]);
}

#include "kernels/bounds.inl.hpp"

#include "kernels/metrics.inl.hpp"

#include "kernels/loops.inl.hpp"

#include "kernels/codes.inl.hpp"

#include "kernels/lookup.inl.hpp"

}  // namespace

extern const Table kTable;
constinit const Table kTable{
    "scalar", metric_kernels(Metrics{}), &reach, kCodes, {&narrow, &widen}, kLookups, "generic", "generic"};

}  // namespace evidex::kernels::scalar
