// SPDX-License-Identifier: Apache-2.0
// The best rows by estimate, ties to the row that lies first. A reservoir as TopK has, of whole numbers that are
// ordered as the rows are: comparing and moving those is what selecting hundreds of rows for one query costs.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace evidex::search {

class Candidates {
 public:
  /// Keeps at most k rows, k at least 1. Estimates that are no numbers are for the caller to keep out.
  explicit Candidates(std::size_t k) : k_(k), limit_(k + std::max(2 * k, kLeastRoom)) {
    constexpr std::size_t kMostAtOnce = 32768;  // larger reservoirs grow as rows arrive
    keys_.reserve(std::min(limit_, kMostAtOnce));
  }

  /// An estimate below this cannot enter.
  float threshold() const noexcept { return threshold_; }
  std::size_t size() const noexcept { return std::min(keys_.size(), k_); }

  void push(float estimate, std::uint32_t row) {
    const std::uint64_t key = std::uint64_t{ordered(estimate)} << 32 | (kMostRow - row);
    if (key < worst_) return;
    keys_.push_back(key);
    if (keys_.size() == limit_) shrink();
  }
  void merge(const Candidates& other) {
    for (const std::uint64_t key : other.keys_) {
      if (key >= worst_) keys_.push_back(key);
      if (keys_.size() >= limit_) shrink();
    }
  }

  /// Row numbers, best first.
  std::vector<std::uint32_t> sorted() {
    shrink();
    std::sort(keys_.begin(), keys_.end(), std::greater<>());
    return rows();
  }
  /// Row numbers, ascending.
  std::vector<std::uint32_t> in_sequence() {
    shrink();
    std::vector<std::uint32_t> found = rows();
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  static constexpr std::size_t kLeastRoom = 64;
  static constexpr std::uint32_t kMostRow = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint32_t kSign = 0x80000000U;

  /// Ordered as the floats are.
  static std::uint32_t ordered(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return (bits & kSign) != 0 ? ~bits : bits | kSign;
  }
  static float estimate(std::uint64_t key) noexcept {
    const auto bits = static_cast<std::uint32_t>(key >> 32);
    return std::bit_cast<float>((bits & kSign) != 0 ? bits & ~kSign : ~bits);
  }

  std::vector<std::uint32_t> rows() const {
    std::vector<std::uint32_t> found;
    found.reserve(keys_.size());
    for (const std::uint64_t key : keys_) found.push_back(kMostRow - static_cast<std::uint32_t>(key));
    return found;
  }

  void shrink() {
    if (keys_.size() < k_) return;
    const auto kth = keys_.begin() + static_cast<std::ptrdiff_t>(k_ - 1);
    std::nth_element(keys_.begin(), kth, keys_.end(), std::greater<>());
    keys_.resize(k_);
    worst_ = keys_.back();
    threshold_ = estimate(worst_);
  }

  std::size_t k_;
  std::size_t limit_;
  std::uint64_t worst_ = 0;
  float threshold_ = -std::numeric_limits<float>::infinity();
  std::vector<std::uint64_t> keys_;
};

}  // namespace evidex::search
