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
#include <limits>

#include "kernels/arch/tables.hpp"
#include "kernels/arch/target.hpp"
#include "kernels/type_list.hpp"

namespace evidex::kernels::avx2 {
namespace {

constexpr std::size_t kGatherRows = 4;
constexpr std::size_t kTileQueries = 2;
constexpr std::size_t kTileRows = 3;
constexpr std::size_t kNibbleQueries = 4;
constexpr std::size_t kNibbleRows = 1;
constexpr std::size_t kNibbleScanRows = 4;

/// Eight set words, then eight clear ones: a window into it masks any tail.
alignas(64) constexpr std::int32_t kTailMask[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};

EVIDEX_TARGET_BEGIN("avx2,fma,f16c")

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

/// 32 bytes of a plane, that is 64 nibbles, as two registers of unsigned bytes.
struct Nibbles {
  static constexpr std::size_t width = 32;
  __m256i low;
  __m256i high;

  static inline Nibbles split(__m256i both) noexcept {
    const __m256i mask = _mm256_set1_epi8(15);
    return {_mm256_and_si256(both, mask), _mm256_and_si256(_mm256_srli_epi16(both, 4), mask)};
  }
  static inline Nibbles load(const std::uint8_t* p) noexcept {
    return split(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  /// Planes are multiples of 16 bytes, so a tail is 16 bytes and zeros.
  static inline Nibbles load_tail(const std::uint8_t* p, std::size_t) noexcept {
    return split(_mm256_zextsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  }
};

struct Factors {
  __m256i low;
  __m256i high;

  static inline Factors load(const std::int8_t* low, const std::int8_t* high) noexcept {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(low)),
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(high))};
  }
  static inline Factors load_tail(const std::int8_t* low, const std::int8_t* high, std::size_t) noexcept {
    return {_mm256_zextsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(low))),
            _mm256_zextsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(high)))};
  }
};

/// Eight 32-bit sums. Unsigned times signed bytes: pairs reach 2 * 15 * 127 and four products half of what
/// 16 bits hold, so the instruction that saturates never does.
struct NibbleSum {
  __m256i v;

  static inline NibbleSum zero() noexcept { return {_mm256_setzero_si256()}; }
  inline void add(const Nibbles& row, const Factors& query) noexcept {
    const __m256i pairs =
        _mm256_add_epi16(_mm256_maddubs_epi16(row.low, query.low), _mm256_maddubs_epi16(row.high, query.high));
    v = _mm256_add_epi32(v, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
  static inline void totals(const NibbleSum (&of)[4], std::int32_t* out) noexcept {
    const __m256i pairs = _mm256_hadd_epi32(_mm256_hadd_epi32(of[0].v, of[1].v), _mm256_hadd_epi32(of[2].v, of[3].v));
    const __m128i sums = _mm_add_epi32(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), sums);
  }
  static inline void totals(const NibbleSum (&of)[1], std::int32_t* out) noexcept {
    __m128i four = _mm_add_epi32(_mm256_castsi256_si128(of[0].v), _mm256_extracti128_si256(of[0].v, 1));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4E));
    *out = _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 0xB1)));
  }
};

/// Sums of 64 rows that fit a byte, as two registers: a table lies in both halves of a register.
struct LookupGroup {
  static constexpr std::size_t width = 1;  // positions
  __m256i low;
  __m256i high;

  static inline LookupGroup zero() noexcept { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
  inline void add(const std::uint8_t* codes, const std::uint8_t* table) noexcept {
    const Nibbles rows = Nibbles::load(codes);
    const __m256i entries = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(table));
    low = _mm256_add_epi8(low, _mm256_shuffle_epi8(entries, rows.low));
    high = _mm256_add_epi8(high, _mm256_shuffle_epi8(entries, rows.high));
  }
};

/// The same in 16 bits: of each register of bytes the even rows, then the odd ones.
struct LookupSum {
  __m256i v[4];

  static inline LookupSum zero() noexcept {
    const __m256i none = _mm256_setzero_si256();
    return {{none, none, none, none}};
  }
  inline void add(const LookupGroup& group) noexcept {
    const __m256i even = _mm256_set1_epi16(255);
    v[0] = _mm256_add_epi16(v[0], _mm256_and_si256(group.low, even));
    v[1] = _mm256_add_epi16(v[1], _mm256_srli_epi16(group.low, 8));
    v[2] = _mm256_add_epi16(v[2], _mm256_and_si256(group.high, even));
    v[3] = _mm256_add_epi16(v[3], _mm256_srli_epi16(group.high, 8));
  }
  inline void store(std::uint16_t* sums) const noexcept {
    for (std::size_t i = 0; i < 2; ++i) {
      const __m256i first = _mm256_unpacklo_epi16(v[2 * i], v[2 * i + 1]);
      const __m256i second = _mm256_unpackhi_epi16(v[2 * i], v[2 * i + 1]);
      auto* out = reinterpret_cast<__m256i*>(sums + 32 * i);
      _mm256_storeu_si256(out, _mm256_permute2x128_si256(first, second, 0x20));
      _mm256_storeu_si256(out + 1, _mm256_permute2x128_si256(first, second, 0x31));
    }
  }
};

static void narrow(const float* values, std::size_t n, std::uint16_t* halves) noexcept {
  for (std::size_t i = 0; i + 8 <= n; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(halves + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(values + i), _MM_FROUND_TO_NEAREST_INT));
  }
  for (std::size_t i = n - n % 8; i < n; ++i) halves[i] = _cvtss_sh(values[i], _MM_FROUND_TO_NEAREST_INT);
}

static void widen(const std::uint16_t* halves, std::size_t n, float* values) noexcept {
  for (std::size_t i = 0; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(values + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(halves + i))));
  }
  for (std::size_t i = n - n % 8; i < n; ++i) values[i] = _cvtsh_ss(halves[i]);
}

#include "kernels/bounds.inl.hpp"

#include "kernels/metrics.inl.hpp"

#include "kernels/loops.inl.hpp"

#include "kernels/codes.inl.hpp"

#include "kernels/lookup.inl.hpp"

EVIDEX_TARGET_END

}  // namespace

extern const Table kTable;
constinit const Table kTable{"avx2",  metric_kernels(Metrics{}), &reach, kCodes, {&narrow, &widen}, kLookups, "native",
                             "native"};

}  // namespace evidex::kernels::avx2

#endif
