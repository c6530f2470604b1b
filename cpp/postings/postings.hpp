// SPDX-License-Identifier: Apache-2.0
// Which rows have which terms, and how much of each: one run of bytes that is written to a file or mapped from one as
// it is, never changed. Rows are numbered from 0; nothing here knows of ids, rights or scores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "postings/list_reader.hpp"

namespace evidex::postings {

/// The first bytes. What follows, in this order: offsets and sizes are derived from these numbers alone.
struct Header {
  std::uint64_t magic;
  std::uint64_t rows;
  std::uint64_t entries;  // (row, term) pairs
  std::uint64_t length;   // sum of all lengths
  std::uint64_t terms;
  std::uint64_t text_bytes;  // of all terms
  std::uint64_t list_bytes;
  std::uint32_t slots;     // of the hash table: a power of two
  std::uint32_t weighted;  // 1: values are float weights and terms are numbers, 0: quarters and text
};
static_assert(sizeof(Header) == 64);

inline constexpr std::uint64_t kMagic = 0x3130545350584456;  // "VDXPST01"
inline constexpr std::size_t kMostRows = std::size_t{1} << 29;
inline constexpr std::size_t kMostTermBytes = std::size_t{1} << 16;

/// Bytes of each part, for who wants to know where they go.
struct Sizes {
  std::size_t lists, directory, text, slots, lengths;
};

/// Where a term's list begins is its own offset after one that so many terms share.
inline constexpr std::size_t kTermsPerOffset = 256;

class Postings {
 public:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  /// Throws CorruptFile unless the bytes are of the size that their header says. `keeper` keeps them.
  Postings(std::span<const std::byte> bytes, std::shared_ptr<const void> keeper);

  std::size_t rows() const noexcept { return header_.rows; }
  std::size_t entries() const noexcept { return header_.entries; }
  std::size_t terms() const noexcept { return header_.terms; }
  bool weighted() const noexcept { return header_.weighted != 0; }
  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  Sizes sizes() const noexcept;

  /// Quarters of each row; none where weighted.
  std::span<const std::uint32_t> lengths() const noexcept { return lengths_; }
  /// Their sum.
  std::uint64_t length() const noexcept { return header_.length; }

  /// The number of a term, kNone if no row has it. Terms are numbered in the order of their bytes.
  std::size_t find(std::string_view term) const noexcept;
  std::string_view term(std::size_t number) const;
  ListReader list(std::size_t number) const;

 private:
  template <class T>
  std::span<const T> take(std::size_t count);

  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> keeper_;
  Header header_;
  std::size_t taken_ = sizeof(Header);
  std::span<const std::uint32_t> lengths_;
  std::span<const std::uint32_t> slots_;      // number of a term plus one, 0: none
  std::span<const std::uint32_t> text_at_;    // [terms + 1]
  std::span<const std::uint32_t> list_at_;    // [terms]
  std::span<const std::uint64_t> shared_at_;  // [ceil(terms / 256)]
  std::span<const char> text_;
  std::span<const std::byte> lists_;
};

/// Where the search for a term in the hash table starts.
std::uint32_t hash(std::string_view term) noexcept;

}  // namespace evidex::postings
