// SPDX-License-Identifier: Apache-2.0
// AVX2 with FMA. 16 lanes are two 256-bit registers.
//
// | instruction          | Haswell..Skylake   | Zen 2..4           |
// |----------------------|--------------------|--------------------|
// | vfmadd231ps ymm      | latency 4-5, p01   | latency 4, FP0/1   |
// | vsubps ymm           | latency 3-4, p01   | latency 3, FP2/3   |
// | vmovups ymm, [mem]   | 2 a cycle          | 2 a cycle          |
// | vmaskmovps ymm,[mem] | 2 uops, tails only | 1-2 uops, tails    |
//
// Eight accumulators (four rows) cover latency 4 on two multiply-add ports.
#if defined(__x86_64__)

#include <immintrin.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/arch/tables.hpp"
#include "kernels/arch/target.hpp"
#include "kernels/type_list.hpp"

namespace evidex::kernels::avx2 {
namespace {

constexpr std::size_t kRowsTogether = 4;

/// Sixteen set words, then sixteen clear ones: a window into it masks any tail.
alignas(64) constexpr std::int32_t kTailMask[32] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                                    0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0};

EVIDEX_TARGET_BEGIN("avx2,fma")

struct Lanes {
  __m256 low;
  __m256 high;

  static inline Lanes zero() noexcept { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
  static inline Lanes load(const float* p) noexcept { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  static inline Lanes load_tail(const float* p, std::size_t n) noexcept {
    const auto* mask = reinterpret_cast<const __m256i*>(kTailMask + 16 - n);
    const auto* next = reinterpret_cast<const __m256i*>(kTailMask + 24 - n);
    return {_mm256_maskload_ps(p, _mm256_loadu_si256(mask)), _mm256_maskload_ps(p + 8, _mm256_loadu_si256(next))};
  }
  static inline Lanes subtract(Lanes a, Lanes b) noexcept {
    return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)};
  }
  static inline Lanes multiply_add(Lanes a, Lanes b, Lanes c) noexcept {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
  }
  static inline float sum(Lanes a) noexcept {
    const __m256 eight = _mm256_add_ps(a.low, a.high);
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
};

static std::uint64_t reach(const float* scores, float threshold) noexcept {
  const __m256 bound = _mm256_set1_ps(threshold);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    const __m256 block = _mm256_loadu_ps(scores + 8 * i);
    const auto hit = static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(block, bound, _CMP_GE_OQ)));
    bits |= std::uint64_t{hit} << (8 * i);
  }
  return bits;
}

#include "kernels/metrics.inl.hpp"

#include "kernels/loops.inl.hpp"

EVIDEX_TARGET_END

}  // namespace

extern const Table kTable;
constinit const Table kTable{"avx2", metric_kernels(Metrics{}), &reach, "native", "native"};

}  // namespace evidex::kernels::avx2

#endif
