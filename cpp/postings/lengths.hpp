// SPDX-License-Identifier: Apache-2.0
// How long each row is, in as few bytes as the longest needs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace evidex::postings {

class Lengths {
 public:
  Lengths() = default;
  /// `bytes` are aligned for numbers of `width` bytes each: 1, 2 or 4.
  Lengths(const std::byte* bytes, std::size_t width) : bytes_(bytes), width_(width) {}

  static std::size_t width_of(std::span<const std::uint32_t> lengths) noexcept {
    const std::uint32_t longest = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
    return longest <= 0xFF ? 1 : longest <= 0xFFFF ? 2 : 4;
  }

  static void write(std::span<const std::uint32_t> lengths, std::size_t width, std::byte* to) noexcept {
    for (const std::uint32_t length : lengths) {  // the lowest bytes come first
      std::memcpy(to, &length, width);
      to += width;
    }
  }

  /// f(numbers), a pointer to whatever type they are of.
  template <class F>
  decltype(auto) visit(F&& f) const {
    if (width_ == 1) return f(reinterpret_cast<const std::uint8_t*>(bytes_));
    if (width_ == 2) return f(reinterpret_cast<const std::uint16_t*>(bytes_));
    return f(reinterpret_cast<const std::uint32_t*>(bytes_));
  }

  std::uint32_t operator[](std::size_t row) const {
    return visit([row](const auto* lengths) { return std::uint32_t{lengths[row]}; });
  }

 private:
  const std::byte* bytes_ = nullptr;
  std::size_t width_ = 1;
};

}  // namespace evidex::postings
