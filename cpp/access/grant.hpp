// SPDX-License-Identifier: Apache-2.0
// Compiles a principal's decided rules into row bits. Knows rule numbers, never names or vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace evidex::access {

/// Sets bit i of `words` where allowed[rules[i]] is not 0. A rule that has not been decided (its
/// number lies beyond `allowed`) grants nothing. `words` must start cleared.
inline void compile_grant(std::span<const std::uint32_t> rules, std::span<const std::uint8_t> allowed,
                          std::uint64_t* words) noexcept {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const std::uint32_t rule = rules[i];
    const bool granted = rule < allowed.size() && allowed[rule] != 0;
    words[i / 64] |= std::uint64_t{granted} << (i % 64);
  }
}

}  // namespace evidex::access
