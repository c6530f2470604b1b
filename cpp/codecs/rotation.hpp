// SPDX-License-Identifier: Apache-2.0
// A random rotation that costs additions only: signs, then Walsh-Hadamard transforms over the first and the last
// 2^p components in turn (Ailon and Chazelle, "The fast Johnson-Lindenstrauss transform", 2009).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace evidex::codecs {

class Rotation {
 public:
  /// Of vectors with `size` components, at least 1. The same for the same seed, on every machine.
  Rotation(std::size_t size, std::uint64_t seed);

  /// Rotates in place. Equal input gives equal bits everywhere.
  void apply(float* vector) const noexcept;

 private:
  std::size_t size_;
  std::size_t block_;         // the largest power of two within size
  std::vector<float> signs_;  // [rounds, size]
};

}  // namespace evidex::codecs
