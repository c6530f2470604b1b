// SPDX-License-Identifier: Apache-2.0
// The permitted rows of a range, so many rows at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bits.hpp"
#include "index/sparse_scan.hpp"

namespace evidex::index {

class SparseWindow {
 public:
  SparseWindow(const SparseView& view, const SparseRange& range, const search::Bitmask& mask)
      : snapshot_(*view.snapshot),
        mask_(mask),
        part_(view.parts[range.part].begin),
        next_(range.begin),
        last_(range.end),
        everything_(mask.count() == mask.rows() && mask.rows() >= snapshot_.rows && snapshot_.dead_rows == 0) {}

  /// Moves to the next rows of which some are permitted; false where there are none.
  bool next() {
    while (next_ < last_) {
      if (!everything_) pass_denied();
      if (next_ >= last_) return false;
      first_ = next_;
      end_ = next_ = std::min(last_, first_ + kSparseWindow);
      if (permit()) return true;
    }
    return false;
  }

  /// Rows of the part from first() to before end(); none is permitted outside of these.
  std::size_t first() const noexcept { return first_; }
  std::uint32_t end() const noexcept { return static_cast<std::uint32_t>(end_); }

  /// Whether all are permitted.
  bool all() const noexcept { return everything_; }
  /// Whether so few are that entries of others are better left out before anything is made of them.
  bool few() const noexcept { return few_; }
  /// 1 where row first() + at is permitted, 0 where not.
  std::size_t permitted(std::size_t at) const noexcept { return (bits_[at / 64] >> (at % 64)) & 1; }

 private:
  void pass_denied() {
    const std::size_t row = mask_.next_used((part_ + next_) / 64) * 64;
    if (row > part_ + next_) next_ = std::min(last_, row - part_);
  }

  bool permit() {
    if (everything_) return true;
    if (!permitted_bits(snapshot_, mask_, part_ + first_, end_ - first_, bits_.data())) return false;
    std::size_t words = (end_ - first_ + 63) / 64;
    while (bits_[words - 1] == 0) --words;
    end_ = std::min(end_, first_ + words * 64);
    std::size_t count = 0;
    for (std::size_t i = 0; i < words; ++i) count += count_bits(bits_[i]);
    few_ = count < (end_ - first_) / 4;
    return true;
  }

  const Snapshot& snapshot_;
  const search::Bitmask& mask_;
  std::size_t part_;
  std::size_t next_;
  std::size_t last_;
  bool everything_;
  bool few_ = false;
  std::size_t first_ = 0;
  std::size_t end_ = 0;
  std::array<std::uint64_t, kSparseWindow / 64> bits_;
};

}  // namespace evidex::index
