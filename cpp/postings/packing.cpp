// SPDX-License-Identifier: Apache-2.0
#include "postings/packing.hpp"

#include <array>
#include <cstring>
#include <utility>

namespace evidex::postings {
namespace {

constexpr std::size_t kLanes = 4;
constexpr std::size_t kSteps = kBlock / kLanes;

// Both compilers that are supported have these, and their registers are those of the baseline on every machine.
using Lanes [[gnu::vector_size(16)]] = std::uint32_t;

Lanes load(const std::byte* from) noexcept {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof(lanes));
  return lanes;
}

template <unsigned kBits, std::size_t kStep>
void unpack_step(const std::byte* packed, std::uint32_t* numbers) noexcept {
  constexpr unsigned kAt = kStep * kBits % 32;
  constexpr std::uint32_t kMask = kBits == 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << (kBits % 32)) - 1;
  const std::byte* from = packed + kStep * kBits / 32 * sizeof(Lanes);
  Lanes lanes = load(from) >> kAt;
  if constexpr (kAt + kBits > 32) lanes |= load(from + sizeof(Lanes)) << (32 - kAt);
  lanes &= kMask;
  std::memcpy(numbers + kStep * kLanes, &lanes, sizeof(lanes));
}

template <unsigned kBits, std::size_t... kEach>
void unpack_steps(const std::byte* packed, std::uint32_t* numbers, std::index_sequence<kEach...>) noexcept {
  (unpack_step<kBits, kEach>(packed, numbers), ...);
}

template <unsigned kBits>
void unpack_as(const std::byte* packed, std::uint32_t* numbers) noexcept {
  if constexpr (kBits == 0) {
    std::memset(numbers, 0, kBlock * sizeof(*numbers));
  } else {
    unpack_steps<kBits>(packed, numbers, std::make_index_sequence<kSteps>());
  }
}

using Unpack = void (*)(const std::byte*, std::uint32_t*) noexcept;

template <std::size_t... kBits>
constexpr std::array<Unpack, 33> functions(std::index_sequence<kBits...>) noexcept {
  return {unpack_as<kBits>...};
}

constexpr std::array<Unpack, 33> kUnpack = functions(std::make_index_sequence<33>());

}  // namespace

void pack(const std::uint32_t* numbers, unsigned bits, std::byte* packed) noexcept {
  if (bits == 0) return;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    std::uint64_t waiting = 0;
    unsigned have = 0;
    std::byte* to = packed + lane * sizeof(std::uint32_t);
    for (std::size_t step = 0; step < kSteps; ++step) {
      waiting |= std::uint64_t{numbers[step * kLanes + lane]} << have;
      have += bits;
      if (have >= 32) {
        const auto word = static_cast<std::uint32_t>(waiting);
        std::memcpy(to, &word, sizeof(word));
        to += sizeof(Lanes);
        waiting >>= 32;
        have -= 32;
      }
    }
  }
}

void unpack(const std::byte* packed, unsigned bits, std::uint32_t* numbers) noexcept { kUnpack[bits](packed, numbers); }

}  // namespace evidex::postings
