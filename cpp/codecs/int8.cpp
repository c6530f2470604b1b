// SPDX-License-Identifier: Apache-2.0
#include "codecs/int8.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

#include "codecs/rounding.hpp"

namespace evidex::codecs {
namespace {

// Covers the roundings of double arithmetic many times over.
constexpr double kMore = 1.0 + 0x1p-30;

/// A residual's norm from the sum of its squares. Its components were computed in double from components as
/// large as the row's, whose own roundings are in proportion to `norm`.
float residual_norm(double square, float norm) {
  return round_up(std::sqrt(square) * kMore + 0x1p-48 * static_cast<double>(norm));
}

}  // namespace

kernels::RowFacts pack(float scale, float norm, float residual) noexcept {
  // A carry out of the residual's significant bits gives the next power of two, which is as it should be.
  const std::uint32_t above =
      (std::bit_cast<std::uint32_t>(scale) & 0xFFFF0000U) | ((std::bit_cast<std::uint32_t>(residual) + 0xFFFFU) >> 16);
  return std::uint64_t{above} << 32 | std::bit_cast<std::uint32_t>(norm);
}

CodeFacts Int8Encoder::encode(const float* row, std::uint8_t* high, std::uint8_t* low) {
  const float scale = kernels_.quantise(row, reference_, dim_, plane_bytes(dim_), codes_.data(), high, low);
  return measure(row, scale);
}

CodeFacts Int8Encoder::encode_and_replace(float* row, std::uint8_t* high, std::uint8_t* low) {
  const float scale = kernels_.quantise(row, reference_, dim_, plane_bytes(dim_), codes_.data(), high, low);
  kernels_.decode(high, low, plane_bytes(dim_), scale, dim_, row);
  return measure(row, scale);
}

CodeFacts Int8Encoder::measure(const float* row, float scale) const {
  const kernels::CodeSums sums = kernels_.measure(row, reference_, codes_.data(), scale, dim_);
  const auto unit = static_cast<double>(scale);
  CodeFacts facts{};
  facts.scale = scale;
  facts.high_norm = round_up(8.0 * unit * std::sqrt(static_cast<double>(sums.high_square)) * kMore);
  facts.norm = round_up(unit * std::sqrt(static_cast<double>(sums.square)) * kMore);
  facts.high_residual = residual_norm(sums.high_lost, facts.high_norm);
  facts.residual = residual_norm(sums.lost, facts.norm);
  return facts;
}

}  // namespace evidex::codecs
