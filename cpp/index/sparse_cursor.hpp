// SPDX-License-Identifier: Apache-2.0
// Where a query is in a term's list. Moves forward only; blocks are decoded when they are first looked at.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "postings/list_reader.hpp"

namespace evidex::index {

class SparseCursor {
 public:
  SparseCursor(const postings::ListReader& list, double its_weight, double its_idf)
      : weight(its_weight), idf(its_idf), list_(list) {}

  /// Moves to the first entry from `row` on; false where there is none.
  bool seek(std::uint32_t row) {
    while (pass_blocks(row)) {
      const std::size_t size = list_.size_of(block_);
      at_ = below(row, size);
      if (at_ < size) return true;
      leave_block();
    }
    return false;
  }

  std::size_t size() const noexcept { return list_.size(); }

  /// Of the entry that seek found.
  std::uint32_t row() const noexcept { return rows_[at_]; }
  std::uint32_t value() {
    if (!have_values_) list_.values(block_, values_);
    have_values_ = true;
    return values_[at_];
  }

  /// Calls f(rows, values, count) for runs of the entries below `end`, from the one that seek found on, and passes
  /// them.
  template <class F>
  void each_below(std::uint32_t end, F&& f) {
    do {
      (void)value();
      const std::size_t size = list_.size_of(block_);
      const std::size_t first = at_;
      at_ = rows_[size - 1] < end ? size : below(end, size);
      f(rows_.data() + first, values_.data() + first, at_ - first);
      if (at_ < size) return;
      leave_block();
    } while (pass_blocks(0) && rows_[0] < end);
  }

  /// Calls f(bounds) for each block that may have an entry below `end`, from where this is on.
  template <class F>
  void each_bound_below(std::uint32_t end, F&& f) const {
    for (std::size_t b = block_; b < list_.blocks(); ++b) {
      if (b > block_ && list_.last_row(b - 1) + 1 >= end) return;
      f(list_.bounds(b));
    }
  }

  double weight;
  double idf;
  double bound = 0;  // of its contributions in the rows that are looked at

 private:
  /// The first place from at_ on whose row is not below `row`. Halves without a branch that nobody could foretell.
  std::size_t below(std::uint32_t row, std::size_t size) const noexcept {
    if (at_ == size || rows_[at_] >= row) return at_;
    std::size_t at = at_;
    for (std::size_t left = size - at_; left > 1; left -= left / 2) at += rows_[at + left / 2 - 1] < row ? left / 2 : 0;
    return at + (rows_[at] < row ? 1 : 0);
  }

  void leave_block() noexcept {
    ++block_;
    have_rows_ = have_values_ = false;
    at_ = 0;
  }

  /// Moves to the first block that may have an entry from `row` on; false where there is none.
  bool pass_blocks(std::uint32_t row) {
    while (block_ < list_.blocks() && list_.last_row(block_) < row) leave_block();
    if (block_ == list_.blocks()) return false;
    if (have_rows_) return true;
    have_rows_ = true;
    have_values_ = list_.interleaved(block_);
    have_values_ ? list_.rows_and_values(block_, rows_, values_) : list_.rows(block_, rows_);
    return true;
  }

  postings::ListReader list_;
  std::size_t block_ = 0;
  std::size_t at_ = 0;
  bool have_rows_ = false;
  bool have_values_ = false;
  postings::Numbers rows_;
  postings::Numbers values_;
};

}  // namespace evidex::index
