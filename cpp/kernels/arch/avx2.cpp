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
// Eight accumulators (four rows) cover latency 4 on two multiply-add ports. A tile of 2 queries x 3 rows
// has twelve, and leaves registers for two parts of queries and one of a row.
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

constexpr std::size_t kGatherRows = 4;
constexpr std::size_t kTileQueries = 2;
constexpr std::size_t kTileRows = 3;

/// Eight set words, then eight clear ones: a window into it masks any tail.
alignas(64) constexpr std::int32_t kTailMask[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};

EVIDEX_TARGET_BEGIN("avx2,fma")

struct Part {
  static constexpr std::size_t width = 8;
  __m256 v;

  static inline Part zero() noexcept { return {_mm256_setzero_ps()}; }
  static inline Part load(const float* p) noexcept { return {_mm256_loadu_ps(p)}; }
  static inline Part load_tail(const float* p, std::size_t n) noexcept {
    const auto* mask = reinterpret_cast<const __m256i*>(kTailMask + width - n);
    return {_mm256_maskload_ps(p, _mm256_loadu_si256(mask))};
  }
  /// Holds a value in a register: GCC would rather load it again for each query, and loads are what
  /// bounds a tile then (16 instead of 10 for 12 multiply-adds).
  static inline Part keep(Part a) noexcept {
    __asm__("" : "+x"(a.v));
    return a;
  }
  static inline Part subtract(Part a, Part b) noexcept { return {_mm256_sub_ps(a.v, b.v)}; }
  static inline Part multiply_add(Part a, Part b, Part c) noexcept { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
  static inline float sum(const Part (&parts)[2]) noexcept {
    const __m256 eight = _mm256_add_ps(parts[0].v, parts[1].v);
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
