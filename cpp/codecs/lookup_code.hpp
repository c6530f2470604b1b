// SPDX-License-Identifier: Apache-2.0
// 4-bit codes whose products with a query are looked up in tables: one code for four dimensions of row - reference.
//
// binary: the signs of the four, after a random rotation; the product is scaled by what makes it right on average
//         (RaBitQ: Gao and Long, SIGMOD 2024).
// pq4:    the nearest of sixteen trained centroids (Jegou, Douze and Schmid, "Product quantization", 2011).
//
// They are estimates: who uses them for an answer has to score rows afterwards, and says that it is not certified.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "codecs/nearest.hpp"
#include "codecs/rotation.hpp"
#include "kernels/lookup.hpp"
#include "kernels/metrics.hpp"

namespace evidex::codecs {

enum class LookupKind : std::uint8_t { binary, pq4 };

inline constexpr std::array<std::string_view, 2> kLookupKinds{"binary", "pq4"};

inline constexpr std::size_t kMostLookupDim = kernels::kMostPositions * kLookupDims;

/// Codes of a row; dimensions beyond dim are zero in every row and query.
constexpr std::size_t lookup_positions(std::size_t dim) {
  constexpr std::size_t kDims = kLookupDims * kernels::kLookupGroup;
  return (dim / kDims + (dim % kDims != 0)) * kernels::kLookupGroup;
}

struct LookupModel {
  LookupKind kind = LookupKind::binary;
  kernels::Metric metric{};
  std::size_t dim = 0;
  std::size_t positions = 0;
  std::vector<float> reference;      // [dim]
  std::optional<Rotation> rotation;  // of 4 * positions components
  std::vector<float> centroids;      // [positions, 4, 16]
  std::vector<float> half_squares;   // [positions, 16], of the centroids' norms

  std::size_t components() const { return positions * kLookupDims; }
};

/// How well a code stands for its row: squared norm of row - reference, and the cosine between that and its code.
struct LookupFit {
  double square;
  double cosine;
};

/// Codes rows, one at a time.
class LookupEncoder {
 public:
  explicit LookupEncoder(const LookupModel& model) : model_(model), room_(model.components()) {}

  /// Row `at` of 64 whose codes lie at `codes`, [positions, 32], which must be zero there before.
  LookupFit encode(const float* row, std::size_t at, std::uint8_t* codes, kernels::LookupFacts& facts);

 private:
  std::uint8_t code_of(std::size_t position, double& product, double& square) const;

  const LookupModel& model_;
  std::vector<float> room_;
};

/// A query's tables, [positions, 2, 16], and what turns sums of their entries into scores.
kernels::LookupTerms lookup_tables(const LookupModel& model, const float* query, std::span<std::uint8_t> tables);

/// row - reference, or a query as products need it, in the components that codes are made of.
void to_components(const LookupModel& model, const float* row, bool centred, float* components);

}  // namespace evidex::codecs
