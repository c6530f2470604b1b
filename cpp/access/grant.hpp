// SPDX-License-Identifier: Apache-2.0
// Compiles a principal's decided rules into row bits: rows -> owners -> rules -> decided. Knows numbers, never names
// or vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace evidex::access {

/// Bit i of `words` is granted(i). A word is put together before it is written: adding bits to it in memory would make
/// each wait for the one before.
template <class Granted>
void write_bits(std::size_t n, std::uint64_t* words, Granted granted) noexcept {
  for (std::size_t begin = 0; begin < n; begin += 64) {
    const std::size_t count = n - begin < 64 ? n - begin : 64;
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < count; ++i) word |= std::uint64_t{granted(begin + i)} << i;
    words[begin / 64] = word;
  }
}

/// One bit per owner, set where its rule is allowed. An owner without a rule, and a rule that has not been decided (its
/// number lies beyond `allowed`), grant nothing.
inline std::vector<std::uint64_t> grant_owners(std::span<const std::uint32_t> rules,
                                               std::span<const std::uint8_t> allowed) {
  std::vector<std::uint64_t> owners(rules.size() / 64 + 1);
  write_bits(rules.size(), owners.data(),
             [&](std::size_t i) { return rules[i] < allowed.size() && allowed[rules[i]] != 0; });
  return owners;
}

/// One bit per row: whether its owner is granted. Owners beyond the table grant nothing.
inline void grant_rows(std::span<const std::uint32_t> owner_of_row, std::span<const std::uint64_t> owners,
                       std::uint64_t* words) noexcept {
  write_bits(owner_of_row.size(), words, [&](std::size_t i) {
    const std::uint32_t owner = owner_of_row[i];
    return owner / 64 < owners.size() && ((owners[owner / 64] >> (owner % 64)) & 1) != 0;
  });
}

}  // namespace evidex::access
