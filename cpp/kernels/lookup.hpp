// SPDX-License-Identifier: Apache-2.0
// The shape of 4-bit codes that are looked up in tables. Codes of 64 rows lie together, position by position: 32 bytes,
// of which byte b holds row b in its low half and row b + 32 in its high half, so that one table serves 64 rows
// (the layout of Andre, Kermarrec and Le Scouarnec, "Quicker ADC", 2019, over more rows).
#pragma once

#include <cstddef>
#include <cstdint>

namespace evidex::kernels {

inline constexpr std::size_t kLookupRows = 64;
inline constexpr std::size_t kLookupBytes = 32;  ///< of a position of 64 rows
inline constexpr std::size_t kLookupEntries = 16;
inline constexpr std::size_t kLookupTable = 32;  ///< bytes of a position's table: its entries, twice, as registers need
/// So many entries are added up in a byte: codes have a multiple of so many positions.
inline constexpr std::size_t kLookupGroup = 8;
inline constexpr unsigned kMostEntry = 255 / kLookupGroup;
/// Most positions whose entries fit 16 bits together.
inline constexpr std::size_t kMostPositions = 65535 / kMostEntry / kLookupGroup * kLookupGroup;

/// What is known of a row beside its code: the upper 16 bits of its factor in the upper half, those of its addend
/// below.
using LookupFacts = std::uint32_t;

/// From a sum to an estimate of the canonical score: base + factor * (low + step * sum) + addend.
struct LookupTerms {
  float base;
  float low;
  float step;
};

}  // namespace evidex::kernels
