// SPDX-License-Identifier: Apache-2.0
// The int8 code of a row: whole numbers in [-127, 127] under a scale of the row's own, kept as two nibble
// planes, with what the error bound needs to know of the row. docs/exactness.md has the mathematics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/table.hpp"

namespace evidex::codecs {

/// Whole-number sums of codes stay within 32 bits up to here.
inline constexpr std::size_t kMostCodedDim = 131072;

/// Bytes of one of the two planes.
constexpr std::size_t plane_bytes(std::size_t dim) { return (dim / 2 + dim % 2 + 15) / 16 * 16; }

/// The scale, and norms of the decoded row and of what decoding loses, rounded up: for the high plane alone and
/// for both.
struct CodeFacts {
  float scale;
  float high_norm;
  float high_residual;
  float norm;
  float residual;
};

/// The residual's norm rounded up once more, to 8 significant bits; the scale has no more than those.
kernels::RowFacts pack(float scale, float norm, float residual) noexcept;

class Int8Encoder {
 public:
  /// Codes row - reference; `reference` holds dim components and outlives the encoder.
  Int8Encoder(const kernels::Table& kernels, std::size_t dim, const float* reference)
      : kernels_(kernels.codes), dim_(dim), reference_(reference), codes_(2 * plane_bytes(dim)) {}

  /// Writes the planes; the facts measure the code against the row as given.
  CodeFacts encode(const float* row, std::uint8_t* high, std::uint8_t* low);

  /// Writes the planes, then replaces the row by what they decode to: the row that is kept where no other
  /// form of it is. The facts measure the code against that.
  CodeFacts encode_and_replace(float* row, std::uint8_t* high, std::uint8_t* low);

 private:
  CodeFacts measure(const float* row, float scale) const;

  const kernels::CodeKernels kernels_;
  std::size_t dim_;
  const float* reference_;
  std::vector<std::int8_t> codes_;
};

}  // namespace evidex::codecs
