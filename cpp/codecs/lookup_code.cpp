// SPDX-License-Identifier: Apache-2.0
#include "codecs/lookup_code.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace evidex::codecs {
namespace {

using kernels::kLookupEntries;

using Entries = std::array<float, kLookupEntries>;

/// The upper 16 bits of a float, to nearest, kept finite.
std::uint32_t upper_half(double value) {
  constexpr double kMost = 0x1p127;
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(std::clamp(value, -kMost, kMost)));
  return (bits + 0x8000U) >> 16;
}

/// Products of four components with the sixteen centroids of a position.
Entries products(const LookupModel& model, std::size_t position, const float* four) {
  const float* centroids = model.centroids.data() + position * kLookupDims * kLookupEntries;
  Entries found{};
  for (std::size_t i = 0; i < kLookupDims; ++i) {
    for (std::size_t e = 0; e < kLookupEntries; ++e) found[e] += four[i] * centroids[i * kLookupEntries + e];
  }
  return found;
}

}  // namespace

void to_components(const LookupModel& model, const float* row, bool centred, float* components) {
  for (std::size_t i = 0; i < model.dim; ++i) components[i] = centred ? row[i] - model.reference[i] : row[i];
  std::fill(components + model.dim, components + model.components(), 0.0F);
  if (model.rotation) model.rotation->apply(components);
}

std::uint8_t LookupEncoder::code_of(std::size_t position, double& product, double& square) const {
  const float* four = room_.data() + position * kLookupDims;
  float with_code = 0;
  std::uint8_t code = 0;
  if (model_.kind == LookupKind::binary) {
    for (std::size_t i = 0; i < kLookupDims; ++i) {
      code = static_cast<std::uint8_t>(code | unsigned{four[i] > 0} << i);
      with_code += std::fabs(four[i]);
    }
    square += kLookupDims;
  } else {
    const float* centroids = model_.centroids.data() + position * kLookupDims * kLookupEntries;
    const float* half_squares = model_.half_squares.data() + position * kLookupEntries;
    code = nearest(four, centroids, half_squares).entry;
    for (std::size_t i = 0; i < kLookupDims; ++i) with_code += four[i] * centroids[i * kLookupEntries + code];
    square += 2 * static_cast<double>(half_squares[code]);
  }
  product += static_cast<double>(with_code);
  return code;
}

LookupFit LookupEncoder::encode(const float* row, std::size_t at, std::uint8_t* codes, kernels::LookupFacts& facts) {
  to_components(model_, row, true, room_.data());
  double product = 0;  // of the row and its code
  double code_square = 0;
  double square = 0;
  for (const float component : room_) square += static_cast<double>(component) * static_cast<double>(component);
  const unsigned shift = at < kernels::kLookupBytes ? 0 : 4;
  std::uint8_t* code = codes + at % kernels::kLookupBytes;
  for (std::size_t p = 0; p < model_.positions; ++p, code += kernels::kLookupBytes) {
    *code = static_cast<std::uint8_t>(*code | code_of(p, product, code_square) << shift);
  }
  // Signs never have less than the length of their row. Where centroids stand for hardly any of a row, its estimate is
  // not to run away with what little there is.
  if (model_.kind == LookupKind::pq4) product = std::max(product, 0.5 * square);
  const double factor = product > 0 ? square / product : 0.0;
  const double addend = model_.metric.distance ? -square : 0.0;
  facts = upper_half(factor) << 16 | upper_half(addend);
  const double lengths = std::sqrt(square * code_square);
  return {square, lengths > 0 ? product / lengths : 1.0};
}

kernels::LookupTerms lookup_tables(const LookupModel& model, const float* query, std::span<std::uint8_t> tables) {
  std::vector<float> components(model.components());
  to_components(model, query, model.metric.distance, components.data());
  std::vector<Entries> entries(model.positions);
  double low = 0;
  float widest = 0;
  for (std::size_t p = 0; p < model.positions; ++p) {
    Entries& of = entries[p];
    of = products(model, p, components.data() + p * kLookupDims);
    const auto [least, most] = std::minmax_element(of.begin(), of.end());
    const float from = *least;
    widest = std::max(widest, *most - from);
    low += static_cast<double>(from);
    for (float& entry : of) entry -= from;
  }
  const float step = widest / static_cast<float>(kernels::kMostEntry);
  const float per_step = step > 0 ? 1.0F / step : 0.0F;
  for (std::size_t p = 0; p < model.positions; ++p) {
    for (std::size_t e = 0; e < kLookupEntries; ++e) {
      // Also where it is no number: queries may be so long that products overflow.
      const float whole = entries[p][e] * per_step + 0.5F;
      const bool fits = whole >= 0 && whole < static_cast<float>(kernels::kMostEntry + 1);
      std::uint8_t* entry = tables.data() + p * kernels::kLookupTable + e;
      entry[0] = entry[kLookupEntries] = fits ? static_cast<std::uint8_t>(whole) : std::uint8_t{0};
    }
  }
  double base = 0;
  for (std::size_t i = 0; i < model.dim; ++i) {
    const auto q = static_cast<double>(query[i]);
    const auto r = static_cast<double>(model.reference[i]);
    base += model.metric.distance ? -(q - r) * (q - r) : q * r;
  }
  const float times = model.metric.distance ? 2.0F : 1.0F;
  return {static_cast<float>(base), times * static_cast<float>(low), times * step};
}

}  // namespace evidex::codecs
