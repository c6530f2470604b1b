// SPDX-License-Identifier: Apache-2.0
// Which of sixteen centroids in four dimensions is nearest: what coding with them spends its time on.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/lookup.hpp"

namespace evidex::codecs {

/// Dimensions that one code stands for.
inline constexpr std::size_t kLookupDims = 4;

struct Nearest {
  std::uint8_t entry;
  float distance;  ///< half the squared one, at least 0, less its last four bits
};

/// Sixteen numbers at once; GCC and Clang make registers of them where loops over arrays stay loops (2.5 times slower).
using Sixteen = float __attribute__((vector_size(kernels::kLookupEntries * sizeof(float))));
using SixteenWords = std::int32_t __attribute__((vector_size(kernels::kLookupEntries * sizeof(float))));

/// `centroids` as [4, 16], `half_squares` of their norms. The number of a centroid replaces the last bits of its
/// distance, so that the least of sixteen words says both. Of centroids as near as that the first is taken.
inline Nearest nearest(const float* four, const float* centroids, const float* half_squares) noexcept {
  constexpr std::int32_t kNumber = kernels::kLookupEntries - 1;
  constexpr SixteenWords kNumbers = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  float own = 0;
  for (std::size_t i = 0; i < kLookupDims; ++i) own += 0.5F * four[i] * four[i];
  Sixteen distances;
  std::memcpy(&distances, half_squares, sizeof distances);
  distances += own;
  for (std::size_t i = 0; i < kLookupDims; ++i) {
    Sixteen components;
    std::memcpy(&components, centroids + i * kernels::kLookupEntries, sizeof components);
    distances -= four[i] * components;
  }
  const SixteenWords positive = distances > 0.0F;  // rounding may take it below
  const SixteenWords words = (reinterpret_cast<SixteenWords>(distances) & positive & ~kNumber) | kNumbers;
  std::int32_t least = words[0];
  for (std::size_t e = 1; e < kernels::kLookupEntries; ++e) least = words[e] < least ? words[e] : least;
  return {static_cast<std::uint8_t>(least & kNumber), std::bit_cast<float>(least & ~kNumber)};
}

}  // namespace evidex::codecs
