// SPDX-License-Identifier: Apache-2.0
// Blocks of 128 small numbers with the same number of bits each, four lanes of 32 bits side by side (the layout of
// SIMD-BP128: Lemire and Boytsov, Decoding billions of integers per second through vectorization, 2015).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace evidex::postings {

inline constexpr std::size_t kBlock = 128;

/// Bytes of a packed block.
constexpr std::size_t packed_bytes(unsigned bits) noexcept { return kBlock / 8 * bits; }

/// Bits that the largest of some numbers needs.
inline unsigned bits_of(std::uint32_t largest) noexcept { return static_cast<unsigned>(std::bit_width(largest)); }

/// Writes packed_bytes(bits) bytes; no number may need more than `bits`, at most 32.
void pack(const std::uint32_t* numbers, unsigned bits, std::byte* packed) noexcept;

/// Reads them again.
void unpack(const std::byte* packed, unsigned bits, std::uint32_t* numbers) noexcept;

}  // namespace evidex::postings
