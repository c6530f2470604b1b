// SPDX-License-Identifier: Apache-2.0
// The self-test notices one wrong kernel among those that concern codes, bounds and halves.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "check.hpp"
#include "kernels/arch/tables.hpp"
#include "kernels/self_test.hpp"
#include "kernels/tables.hpp"

namespace {

using namespace evidex;
using kernels::kMetrics;
using kernels::Table;

const kernels::CodeKernels& scalar_codes() { return kernels::scalar::kTable.codes; }
const kernels::LookupKernels& scalar_lookups() { return kernels::scalar::kTable.lookups; }
const kernels::HalfKernels& scalar_halves() { return kernels::scalar::kTable.halves; }

float flip_last_bit(float value) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ 1U); }

template <class Plant>
void notices(const char* what, Plant plant) {
  for (const Table* base : check::runnable_tables()) {
    const check::Note note(base->isa, ", ", what);
    Table planted = *base;
    plant(planted);
    CHECK(!kernels::agrees_with_scalar(planted));
    CHECK(!kernels::codes_agree_with_scalar(planted));
  }
}

// What is wrong with a sum: bytes of the plane, its place among n, and the sum.
void keep_16_bits(std::size_t, std::size_t, std::size_t, std::int32_t& sum) {
  sum = static_cast<std::int16_t>(static_cast<std::uint16_t>(sum & 0xFFFF));
}
void saturate(std::size_t, std::size_t, std::size_t, std::int32_t& sum) { sum = std::clamp(sum, -700000, 700000); }
void last_of_all(std::size_t, std::size_t at, std::size_t n, std::int32_t& sum) { sum += at + 1 == n ? 1 : 0; }
void fourth(std::size_t, std::size_t at, std::size_t, std::int32_t& sum) { sum += at == 3 ? 1 : 0; }
void odd_tail(std::size_t bytes, std::size_t, std::size_t, std::int32_t& sum) { sum += bytes % 32 != 0 ? 1 : 0; }
void long_tail(std::size_t bytes, std::size_t, std::size_t, std::int32_t& sum) { sum += bytes % 64 == 48 ? 1 : 0; }

using Fault = void (*)(std::size_t bytes, std::size_t at, std::size_t n, std::int32_t& sum);

template <Fault kFault>
void wrong_scan(const std::int8_t* query, const std::uint8_t* rows, std::size_t n, std::size_t bytes,
                std::int32_t* sums) noexcept {
  scalar_codes().scan(query, rows, n, bytes, sums);
  for (std::size_t i = 0; i < n; ++i) kFault(bytes, i, n, sums[i]);
}

/// The last query alone is wrong.
template <Fault kFault>
void wrong_tile(const std::int8_t* queries, std::size_t nq, const std::uint8_t* const* rows, std::size_t n,
                std::size_t bytes, std::int32_t* sums, std::size_t stride) noexcept {
  scalar_codes().tile(queries, nq, rows, n, bytes, sums, stride);
  for (std::size_t i = 0; i < n; ++i) kFault(bytes, i, n, sums[(nq - 1) * stride + i]);
}

template <Fault kFault>
void plant_sums(const char* what) {
  notices(what, [](Table& t) { t.codes.scan = &wrong_scan<kFault>; });
  notices(what, [](Table& t) { t.codes.tile = &wrong_tile<kFault>; });
}

/// Zeroes in place of the last component's code, as a loop that stops early would leave.
float short_quantise(const float* row, const float* reference, std::size_t dim, std::size_t bytes, std::int8_t* codes,
                     std::uint8_t* high, std::uint8_t* low) noexcept {
  const float scale = scalar_codes().quantise(row, reference, dim, bytes, codes, high, low);
  codes[dim - 1] = 0;
  return scale;
}

float no_reference(const float* row, const float*, std::size_t dim, std::size_t bytes, std::int8_t* codes,
                   std::uint8_t* high, std::uint8_t* low) noexcept {
  static constexpr float kZeros[512] = {};
  return scalar_codes().quantise(row, kZeros, dim, bytes, codes, high, low);
}

float swapped_planes(const float* row, const float* reference, std::size_t dim, std::size_t bytes, std::int8_t* codes,
                     std::uint8_t* high, std::uint8_t* low) noexcept {
  return scalar_codes().quantise(row, reference, dim, bytes, codes, low, high);
}

float no_least(const float* row, const float* reference, std::size_t dim, std::size_t bytes, std::int8_t* codes,
               std::uint8_t* high, std::uint8_t* low) noexcept {
  float largest = 0;
  for (std::size_t i = 0; i < dim; ++i) largest = std::fmax(largest, std::fabs(row[i] - reference[i]));
  return largest < 0x1p-100F ? largest / 127.0F : scalar_codes().quantise(row, reference, dim, bytes, codes, high, low);
}

kernels::CodeSums less_lost(const float* row, const float* reference, const std::int8_t* codes, float scale,
                            std::size_t dim) noexcept {
  kernels::CodeSums sums = scalar_codes().measure(row, reference, codes, scale, dim);
  sums.high_lost = std::nextafter(sums.high_lost, 0.0);
  return sums;
}

kernels::CodeSums other_square(const float* row, const float* reference, const std::int8_t* codes, float scale,
                               std::size_t dim) noexcept {
  kernels::CodeSums sums = scalar_codes().measure(row, reference, codes, scale, dim);
  sums.square += 1;
  return sums;
}

void wrong_decode(const std::uint8_t* high, const std::uint8_t* low, std::size_t bytes, float scale, std::size_t dim,
                  float* out) noexcept {
  scalar_codes().decode(high, low, bytes, scale, dim, out);
  out[dim - 1] = flip_last_bit(out[dim - 1]);
}

void exchanged(const kernels::RowFacts* facts, std::size_t n, float* scales, float* norms, float* residuals) noexcept {
  scalar_codes().unpack(facts, n, scales, residuals, norms);
}

template <std::size_t kMetric, bool kUpper, std::size_t kAt>
void wrong_bound(const kernels::BoundTerms& terms, const std::int32_t* sums, const float* scales, const float* norms,
                 const float* residuals, std::size_t n, float* estimates, float* uppers) noexcept {
  kernels::scalar::kTable.metrics[kMetric].bound(terms, sums, scales, norms, residuals, n, estimates, uppers);
  float& one = (kUpper ? uppers : estimates)[kAt < n ? kAt : n - 1];
  one = flip_last_bit(one);
}

template <std::size_t kAt>
void wrong_sums(const std::uint8_t* codes, const std::uint8_t* tables, std::size_t positions,
                std::uint16_t* sums) noexcept {
  scalar_lookups().sums(codes, tables, positions, sums);
  if (positions > 8) sums[kAt] = static_cast<std::uint16_t>(sums[kAt] % 256);  // as in bytes
}

void exchanged_facts(const kernels::LookupTerms& terms, const std::uint16_t* sums, const kernels::LookupFacts* facts,
                     float* estimates) noexcept {
  kernels::LookupFacts other[64];
  for (std::size_t i = 0; i < 64; ++i) other[i] = std::rotl(facts[i], 16);
  scalar_lookups().estimates(terms, sums, other, estimates);
}

/// Cuts off instead of rounding.
void truncated(const float* values, std::size_t n, std::uint16_t* halves) noexcept {
  for (std::size_t i = 0; i < n; ++i) {
    const float towards = std::bit_cast<float>(std::bit_cast<std::uint32_t>(values[i]) & 0xFFFFE000U);
    scalar_halves().narrow(&towards, 1, halves + i);
  }
}

/// Right but in ties, which go up.
void ties_away(const float* values, std::size_t n, std::uint16_t* halves) noexcept {
  for (std::size_t i = 0; i < n; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(values[i]);
    const bool tie = (bits & 0x1FFFU) == 0x1000U;
    const float value = tie ? std::bit_cast<float>(bits + 1) : values[i];
    scalar_halves().narrow(&value, 1, halves + i);
  }
}

void flushed(const float* values, std::size_t n, std::uint16_t* halves) noexcept {
  scalar_halves().narrow(values, n, halves);
  for (std::size_t i = 0; i < n; ++i) {
    if ((halves[i] & 0x7C00) == 0) halves[i] &= 0x8000;
  }
}

void largest_stays(const float* values, std::size_t n, std::uint16_t* halves) noexcept {
  scalar_halves().narrow(values, n, halves);
  for (std::size_t i = 0; i < n; ++i) {
    if ((halves[i] & 0x7FFF) == 0x7C00) --halves[i];
  }
}

void unsigned_zero(const float* values, std::size_t n, std::uint16_t* halves) noexcept {
  scalar_halves().narrow(values, n, halves);
  for (std::size_t i = 0; i < n; ++i) {
    if (halves[i] == 0x8000) halves[i] = 0;
  }
}

void widen_flushed(const std::uint16_t* halves, std::size_t n, float* values) noexcept {
  scalar_halves().widen(halves, n, values);
  for (std::size_t i = 0; i < n; ++i) {
    if (std::fabs(values[i]) < 0x1p-14F) values[i] = 0;
  }
}

}  // namespace

TEST(wrong_sums_of_nibbles_are_noticed) {
  plant_sums<&keep_16_bits>("16 bits");
  plant_sums<&saturate>("saturated");
  plant_sums<&last_of_all>("last row");
  plant_sums<&fourth>("fourth row");
  plant_sums<&odd_tail>("half a register left over");
  plant_sums<&long_tail>("three quarters left over");
}

TEST(wrong_coding_is_noticed) {
  notices("short quantise", [](Table& t) { t.codes.quantise = &short_quantise; });
  notices("no reference", [](Table& t) { t.codes.quantise = &no_reference; });
  notices("swapped planes", [](Table& t) { t.codes.quantise = &swapped_planes; });
  notices("no least", [](Table& t) { t.codes.quantise = &no_least; });
  notices("less lost", [](Table& t) { t.codes.measure = &less_lost; });
  notices("other square", [](Table& t) { t.codes.measure = &other_square; });
  notices("decode", [](Table& t) { t.codes.decode = &wrong_decode; });
  notices("exchanged", [](Table& t) { t.codes.unpack = &exchanged; });
}

TEST(wrong_bounds_are_noticed) {
  notices("upper 0", [](Table& t) { t.metrics[0].bound = &wrong_bound<0, true, 0>; });
  notices("upper 1", [](Table& t) { t.metrics[1].bound = &wrong_bound<1, true, 60>; });
  notices("upper 2", [](Table& t) { t.metrics[2].bound = &wrong_bound<2, true, 60>; });
  notices("estimate 0", [](Table& t) { t.metrics[0].bound = &wrong_bound<0, false, 60>; });
  notices("estimate 2", [](Table& t) { t.metrics[2].bound = &wrong_bound<2, false, 0>; });
  notices("exchanged", [](Table& t) { std::swap(t.metrics[0].bound, t.metrics[2].bound); });
}

TEST(wrong_lookups_are_noticed) {
  notices("first row", [](Table& t) { t.lookups.sums = &wrong_sums<0>; });
  notices("last row", [](Table& t) { t.lookups.sums = &wrong_sums<63>; });
  notices("exchanged facts", [](Table& t) { t.lookups.estimates = &exchanged_facts; });
}

TEST(wrong_halves_are_noticed) {
  notices("truncated", [](Table& t) { t.halves.narrow = &truncated; });
  notices("ties away", [](Table& t) { t.halves.narrow = &ties_away; });
  notices("flushed", [](Table& t) { t.halves.narrow = &flushed; });
  notices("largest stays", [](Table& t) { t.halves.narrow = &largest_stays; });
  notices("unsigned zero", [](Table& t) { t.halves.narrow = &unsigned_zero; });
  notices("widen flushed", [](Table& t) { t.halves.widen = &widen_flushed; });
}
