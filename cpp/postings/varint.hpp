// SPDX-License-Identifier: Apache-2.0
// Whole numbers in as few bytes as they need, seven bits each, the lowest first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "postings/damaged.hpp"

namespace evidex::postings {

inline void append_varint(std::vector<std::byte>& to, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) to.push_back(static_cast<std::byte>(number | 0x80));
  to.push_back(static_cast<std::byte>(number));
}

/// Takes a number off the front. Throws Damaged where there is none.
inline std::uint64_t take_varint(std::span<const std::byte>& from) {
  std::uint64_t number = 0;
  for (unsigned shift = 0; shift < 64 && !from.empty(); shift += 7) {
    const auto byte = static_cast<std::uint64_t>(from.front());
    from = from.subspan(1);
    number |= (byte & 0x7F) << shift;
    if (byte < 0x80) return number;
  }
  damaged("a term is damaged");
}

}  // namespace evidex::postings
