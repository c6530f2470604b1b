// SPDX-License-Identifier: Apache-2.0
// The reference instruction set: plain C++ for any processor. Its fused multiply-add is our own,
// because the C library's would call the hardware's and check nothing.
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/arch/tables.hpp"
#include "kernels/type_list.hpp"

namespace evidex::kernels::scalar {
namespace {

constexpr std::size_t kGatherRows = 1;
constexpr std::size_t kTileQueries = 1;
constexpr std::size_t kTileRows = 1;

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

#include "kernels/metrics.inl.hpp"

#include "kernels/loops.inl.hpp"

}  // namespace

extern const Table kTable;
constinit const Table kTable{"scalar", metric_kernels(Metrics{}), &reach, "generic", "generic"};

}  // namespace evidex::kernels::scalar
