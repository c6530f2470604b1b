// SPDX-License-Identifier: Apache-2.0
// Numbers that look random and are the same for the same seed on every machine: splitmix64 (Steele, Lea and Flood,
// OOPSLA 2014).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace evidex {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() noexcept {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

  /// `most` distinct numbers below n in ascending order, or all of them.
  std::vector<std::size_t> sample(std::size_t n, std::size_t most) {
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < n && chosen.size() < most; ++i) {  // one pass, each with the chance that is left
      if (next() % (n - i) < most - chosen.size()) chosen.push_back(i);
    }
    return chosen;
  }

 private:
  std::uint64_t state_;
};

}  // namespace evidex
