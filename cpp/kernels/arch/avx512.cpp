// SPDX-License-Identifier: Apache-2.0
// AVX-512 with VNNI (F, BW, DQ, VL, VNNI). One register is the 16 lanes.
//
// | instruction          | Ice Lake, Sapphire Rapids | Zen 4                    |
// |----------------------|---------------------------|--------------------------|
// | vfmadd231ps zmm      | latency 4, p0 and p5      | latency 4, one a cycle   |
// | vpdpbusd zmm         | latency 5, p0 (and p5)    | latency 4, one a cycle   |
// | vmovups zmm, [mem]   | 2 a cycle                 | 1 a cycle                |
//
// With 32 registers a tile of 4 queries x 6 rows has 24 accumulators and loads 10 parts for them.
#if defined(__x86_64__)

#include <immintrin.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/arch/tables.hpp"
#include "kernels/arch/target.hpp"
#include "kernels/type_list.hpp"

namespace evidex::kernels::avx512 {
namespace {

constexpr std::size_t kGatherRows = 4;
constexpr std::size_t kTileQueries = 4;
constexpr std::size_t kTileRows = 6;
constexpr std::size_t kNibbleQueries = 4;
constexpr std::size_t kNibbleRows = 4;
constexpr std::size_t kNibbleScanRows = 4;

EVIDEX_TARGET_BEGIN("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")

struct Part {
  static constexpr std::size_t width = 16;
  __m512 v;

  static inline Part zero() noexcept { return {_mm512_setzero_ps()}; }
  static inline Part load(const float* p) noexcept { return {_mm512_loadu_ps(p)}; }
  static inline Part load_tail(const float* p, std::size_t n) noexcept {
    return {_mm512_maskz_loadu_ps(static_cast<__mmask16>((1U << n) - 1U), p)};
  }
  /// Holds a value in a register, as in avx2.cpp.
  static inline Part keep(Part a) noexcept {
    __asm__("" : "+v"(a.v));
    return a;
  }
  static inline Part subtract(Part a, Part b) noexcept { return {_mm512_sub_ps(a.v, b.v)}; }
  static inline Part multiply_add(Part a, Part b, Part c) noexcept { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
  static inline float sum(const Part (&parts)[1]) noexcept {
    const __m512 all = parts[0].v;
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(all), _mm512_extractf32x8_ps(all, 1));
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
};

static std::uint64_t reach(const float* scores, float threshold) noexcept {
  const __m512 bound = _mm512_set1_ps(threshold);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const __mmask16 hit = _mm512_cmp_ps_mask(_mm512_loadu_ps(scores + 16 * i), bound, _CMP_GE_OQ);
    bits |= std::uint64_t{hit} << (16 * i);
  }
  return bits;
}

/// 16, 32 or 48 bytes and zeros. Not by a masked load: rows that only those touch came from memory four times slower
/// here (benchmarks/NOTES.md), as if nothing were fetched ahead.
static inline __m512i load_bytes(const void* p, std::size_t n) noexcept {
  const auto* bytes = static_cast<const __m128i*>(p);
  if (n == 16) return _mm512_zextsi128_si512(_mm_loadu_si128(bytes));
  const __m512i first = _mm512_zextsi256_si512(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
  return n == 32 ? first : _mm512_inserti32x4(first, _mm_loadu_si128(bytes + 2), 2);
}

/// 64 bytes of a plane, that is 128 nibbles, as two registers of unsigned bytes.
struct Nibbles {
  static constexpr std::size_t width = 64;
  __m512i low;
  __m512i high;

  static inline Nibbles split(__m512i both) noexcept {
    const __m512i mask = _mm512_set1_epi8(15);
    return {_mm512_and_si512(both, mask), _mm512_and_si512(_mm512_srli_epi16(both, 4), mask)};
  }
  static inline Nibbles load(const std::uint8_t* p) noexcept { return split(_mm512_loadu_si512(p)); }
  static inline Nibbles load_tail(const std::uint8_t* p, std::size_t n) noexcept { return split(load_bytes(p, n)); }
};

/// A query's bytes for both halves. Held in registers, as rows are in avx2.cpp: four rows use them.
struct Factors {
  __m512i low;
  __m512i high;

  static inline Factors keep(Factors a) noexcept {
    __asm__("" : "+v"(a.low), "+v"(a.high));
    return a;
  }
  static inline Factors load(const std::int8_t* low, const std::int8_t* high) noexcept {
    return keep({_mm512_loadu_si512(low), _mm512_loadu_si512(high)});
  }
  static inline Factors load_tail(const std::int8_t* low, const std::int8_t* high, std::size_t n) noexcept {
    return {load_bytes(low, n), load_bytes(high, n)};
  }
};

/// Sixteen 32-bit sums of unsigned times signed bytes; the form that saturates is not used.
struct NibbleSum {
  __m512i v;

  static inline NibbleSum zero() noexcept { return {_mm512_setzero_si512()}; }
  inline void add(const Nibbles& row, const Factors& query) noexcept {
    v = _mm512_dpbusd_epi32(v, row.low, query.low);
    v = _mm512_dpbusd_epi32(v, row.high, query.high);
  }
  static inline void totals(const NibbleSum (&of)[1], std::int32_t* out) noexcept {
    *out = _mm512_reduce_add_epi32(of[0].v);
  }
  static inline void totals(const NibbleSum (&of)[4], std::int32_t* out) noexcept {
    const __m512i ab =
        _mm512_add_epi32(_mm512_unpacklo_epi32(of[0].v, of[1].v), _mm512_unpackhi_epi32(of[0].v, of[1].v));
    const __m512i cd =
        _mm512_add_epi32(_mm512_unpacklo_epi32(of[2].v, of[3].v), _mm512_unpackhi_epi32(of[2].v, of[3].v));
    const __m512i abcd = _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
    const __m256i two = _mm256_add_epi32(_mm512_castsi512_si256(abcd), _mm512_extracti64x4_epi64(abcd, 1));
    const __m128i one = _mm_add_epi32(_mm256_castsi256_si128(two), _mm256_extracti128_si256(two, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), one);
  }
};

/// Sums of 64 rows that fit a byte, as two registers: two positions side by side, each with its table in both halves.
struct LookupGroup {
  static constexpr std::size_t width = 2;  // positions
  __m512i low;
  __m512i high;

  static inline LookupGroup zero() noexcept { return {_mm512_setzero_si512(), _mm512_setzero_si512()}; }
  inline void add(const std::uint8_t* codes, const std::uint8_t* tables) noexcept {
    const Nibbles rows = Nibbles::load(codes);
    const __m512i entries = _mm512_loadu_si512(tables);
    low = _mm512_add_epi8(low, _mm512_shuffle_epi8(entries, rows.low));
    high = _mm512_add_epi8(high, _mm512_shuffle_epi8(entries, rows.high));
  }
};

/// The same in 16 bits: of each register of bytes the even rows, then the odd ones.
struct LookupSum {
  __m512i v[4];

  static inline LookupSum zero() noexcept {
    const __m512i none = _mm512_setzero_si512();
    return {{none, none, none, none}};
  }
  inline void add(const LookupGroup& group) noexcept {
    const __m512i even = _mm512_set1_epi16(255);
    v[0] = _mm512_add_epi16(v[0], _mm512_and_si512(group.low, even));
    v[1] = _mm512_add_epi16(v[1], _mm512_srli_epi16(group.low, 8));
    v[2] = _mm512_add_epi16(v[2], _mm512_and_si512(group.high, even));
    v[3] = _mm512_add_epi16(v[3], _mm512_srli_epi16(group.high, 8));
  }
  static inline __m256i folded(__m512i both) noexcept {
    return _mm256_add_epi16(_mm512_castsi512_si256(both), _mm512_extracti64x4_epi64(both, 1));
  }
  inline void store(std::uint16_t* sums) const noexcept {
    for (std::size_t i = 0; i < 2; ++i) {
      const __m256i even = folded(v[2 * i]);
      const __m256i odd = folded(v[2 * i + 1]);
      const __m256i first = _mm256_unpacklo_epi16(even, odd);
      const __m256i second = _mm256_unpackhi_epi16(even, odd);
      auto* out = reinterpret_cast<__m256i*>(sums + 32 * i);
      _mm256_storeu_si256(out, _mm256_permute2x128_si256(first, second, 0x20));
      _mm256_storeu_si256(out + 1, _mm256_permute2x128_si256(first, second, 0x31));
    }
  }
};

static void narrow(const float* values, std::size_t n, std::uint16_t* halves) noexcept {
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(halves + i),
                        _mm512_cvtps_ph(_mm512_loadu_ps(values + i), _MM_FROUND_TO_NEAREST_INT));
  }
  for (; i < n; ++i) halves[i] = _cvtss_sh(values[i], _MM_FROUND_TO_NEAREST_INT);
}

static void widen(const std::uint16_t* halves, std::size_t n, float* values) noexcept {
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    _mm512_storeu_ps(values + i, _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(halves + i))));
  }
  for (; i < n; ++i) values[i] = _cvtsh_ss(halves[i]);
}

#include "kernels/bounds.inl.hpp"

#include "kernels/metrics.inl.hpp"

#include "kernels/loops.inl.hpp"

#include "kernels/codes.inl.hpp"

#include "kernels/lookup.inl.hpp"

EVIDEX_TARGET_END

}  // namespace

extern const Table kTable;
constinit const Table kTable{"avx512", metric_kernels(Metrics{}), &reach, kCodes, {&narrow, &widen}, kLookups, "native",
                             "native"};

}  // namespace evidex::kernels::avx512

#endif
