// SPDX-License-Identifier: Apache-2.0
// Numbers of few bits one after the other, the lowest bit of a byte first: as they are, in unary, or as gamma codes
// (Elias, Universal codeword sets and representations of the integers, 1975).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "postings/damaged.hpp"

namespace evidex::postings {

class BitWriter {
 public:
  /// Appends to whole bytes; finish() completes the last one.
  explicit BitWriter(std::vector<std::byte>& to) : to_(to) {}

  /// The lowest `count` bits, at most 32.
  void bits(std::uint64_t number, unsigned count) {
    held_ |= (number & ((std::uint64_t{1} << count) - 1)) << have_;
    for (have_ += count; have_ >= 8; have_ -= 8, held_ >>= 8) to_.push_back(static_cast<std::byte>(held_));
  }
  /// So many zeros, and a one.
  void unary(std::uint64_t zeros) {
    for (; zeros >= 32; zeros -= 32) bits(0, 32);
    bits(std::uint64_t{1} << zeros, static_cast<unsigned>(zeros) + 1);
  }
  /// A number from 1 on.
  void gamma(std::uint32_t number) {
    const auto low = static_cast<unsigned>(std::bit_width(number)) - 1;
    unary(low);
    bits(number, low);
  }
  void finish() {
    if (have_ > 0) bits(0, 8 - have_);
  }

 private:
  std::vector<std::byte>& to_;
  std::uint64_t held_ = 0;
  unsigned have_ = 0;
};

/// Reads them again. Behind the end are zeros; who read that far is told by `finish`.
class BitReader {
 public:
  explicit BitReader(std::span<const std::byte> from) : from_(from) { refill(); }

  /// At most 32 bits.
  std::uint32_t bits(unsigned count) {
    const auto number = static_cast<std::uint32_t>(held_ & ((std::uint64_t{1} << count) - 1));
    skip(count);
    return number;
  }
  std::uint64_t unary() {
    std::uint64_t zeros = 0;
    while (held_ == 0) {
      zeros += have_;
      skip(have_);
      if (at_ > from_.size() + sizeof(held_)) damaged("a list is damaged");
    }
    const auto rest = static_cast<unsigned>(std::countr_zero(held_));
    skip(rest + 1);
    return zeros + rest;
  }
  std::uint32_t gamma() {
    const std::uint64_t low = unary();
    if (low > 31) damaged("a list is damaged");
    return (std::uint32_t{1} << low) | bits(static_cast<unsigned>(low));
  }
  /// As unary() << low | bits(low), at once where it can be.
  std::uint64_t rice(unsigned low) {
    const auto zeros = static_cast<unsigned>(std::countr_zero(held_));
    if (zeros + 1 + low > have_) {
      const std::uint64_t high = unary();
      return (high << low) | bits(low);
    }
    const std::uint64_t rest = (held_ >> zeros >> 1) & ((std::uint64_t{1} << low) - 1);
    skip(zeros + 1 + low);
    return (std::uint64_t{zeros} << low) | rest;
  }
  /// The bytes behind the one that was read last. Throws Damaged where more was read than there is.
  std::span<const std::byte> finish() const {
    const std::size_t used = at_ - have_ / 8;
    if (used > from_.size()) damaged("a list is damaged");
    return from_.subspan(used);
  }

 private:
  void skip(unsigned count) {
    held_ >>= count;
    have_ -= count;
    if (have_ < 33) refill();
  }

  /// Whole bytes until there are 56 bits or more.
  void refill() {
    std::uint64_t next = 0;
    if (at_ + sizeof(next) <= from_.size()) {
      std::memcpy(&next, from_.data() + at_, sizeof(next));
    } else if (at_ < from_.size()) {
      std::memcpy(&next, from_.data() + at_, from_.size() - at_);
    }
    held_ |= next << have_;
    const unsigned taken = (63 - have_) / 8;
    at_ += taken;
    have_ += taken * 8;
    held_ &=
        ~std::uint64_t{0} >> (64 - have_);  // of the byte that has no room only zeros, so that it is read whole later
  }

  std::span<const std::byte> from_;
  std::size_t at_ = 0;  // the next byte
  std::uint64_t held_ = 0;
  unsigned have_ = 0;  // bits of it
};

}  // namespace evidex::postings
