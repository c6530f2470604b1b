// SPDX-License-Identifier: Apache-2.0
#include "codecs/rotation.hpp"

#include <bit>
#include <cmath>

#include "base/random.hpp"

namespace evidex::codecs {
namespace {

constexpr std::size_t kRounds = 4;  // two over each end

void hadamard(float* v, std::size_t n) noexcept {
  for (std::size_t half = 1; half < n; half *= 2) {
    for (std::size_t begin = 0; begin < n; begin += 2 * half) {
      for (std::size_t i = begin; i < begin + half; ++i) {
        const float a = v[i];
        const float b = v[i + half];
        v[i] = a + b;
        v[i + half] = a - b;
      }
    }
  }
}

}  // namespace

Rotation::Rotation(std::size_t size, std::uint64_t seed)
    : size_(size), block_(std::bit_floor(size)), signs_(kRounds * size) {
  Random random(seed);
  // The transform multiplies lengths by the root of its size; components outside it keep theirs.
  const float shrink = 1.0F / std::sqrt(static_cast<float>(block_));
  for (std::size_t round = 0; round < kRounds; ++round) {
    const std::size_t begin = round % 2 == 0 ? 0 : size_ - block_;
    for (std::size_t i = 0; i < size_; ++i) {
      const bool inside = i >= begin && i < begin + block_;
      const float length = inside ? shrink : 1.0F;
      signs_[round * size_ + i] = (random.next() >> 63) != 0 ? -length : length;
    }
  }
}

void Rotation::apply(float* vector) const noexcept {
  for (std::size_t round = 0; round < kRounds; ++round) {
    const float* signs = signs_.data() + round * size_;
    for (std::size_t i = 0; i < size_; ++i) vector[i] *= signs[i];
    hadamard(vector + (round % 2 == 0 ? 0 : size_ - block_), block_);
  }
}

}  // namespace evidex::codecs
