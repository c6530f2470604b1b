// SPDX-License-Identifier: Apache-2.0
// Which rows have which terms, and how much of each: one run of bytes that is written to a file or mapped from one as
// it is, never changed. Rows are numbered from 0; nothing here knows of ids, rights or scores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "postings/damaged.hpp"
#include "postings/dictionary.hpp"
#include "postings/lengths.hpp"
#include "postings/list_reader.hpp"

namespace evidex::postings {

/// The first bytes. What follows, in this order: offsets and sizes are derived from these numbers alone.
struct Header {
  std::uint64_t magic;
  std::uint64_t rows;
  std::uint64_t entries;  // (row, term) pairs
  std::uint64_t length;   // sum of all lengths
  std::uint64_t terms;
  std::uint64_t term_bytes;  // of all terms and the places of their lists
  std::uint64_t list_bytes;
  std::uint32_t length_bytes;  // of each row's: 1, 2 or 4; 0 where weighted
  std::uint32_t weighted;      // 1: values are float weights and terms are numbers, 0: quarters and text
};
static_assert(sizeof(Header) == 64);

inline constexpr std::uint64_t kMagic = 0x3230545350584456;  // "VDXPST02"
inline constexpr std::size_t kMostRows = std::size_t{1} << 29;
inline constexpr std::size_t kMostTermBytes = std::size_t{1} << 16;

/// Bytes of each part, for who wants to know where they go.
struct Sizes {
  std::size_t lists, terms, lengths;
};

class Postings {
 public:
  /// Throws CorruptFile unless the bytes are of the size that their header says. `keeper` keeps them; `file` is where
  /// they lie, if anywhere.
  Postings(std::span<const std::byte> bytes, std::shared_ptr<const void> keeper, std::string file = {});

  /// What f() gives, which reads these; where it finds them damaged, a CorruptFile with their file. Lists and terms are
  /// looked at when they are needed, so that whoever reads them reads them so.
  template <class F>
  decltype(auto) named(F&& f) const {
    try {
      return f();
    } catch (const Damaged& damage) {
      name(damage);
    }
  }

  std::size_t rows() const noexcept { return header_.rows; }
  std::size_t entries() const noexcept { return header_.entries; }
  std::size_t terms() const noexcept { return header_.terms; }
  bool weighted() const noexcept { return header_.weighted != 0; }
  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  Sizes sizes() const noexcept;

  /// Quarters of each row; none where weighted.
  const Lengths& lengths() const noexcept { return lengths_; }
  /// Their sum.
  std::uint64_t length() const noexcept { return header_.length; }

  const Dictionary& dictionary() const noexcept { return dictionary_; }
  /// The list of a term that was found.
  ListReader list(const TermPlace& place) const;

 private:
  void parse();
  [[noreturn]] void name(const Damaged& damage) const;
  const std::byte* take(std::size_t count, std::size_t each);

  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> keeper_;
  std::string file_;
  Header header_;
  std::size_t taken_ = sizeof(Header);
  Dictionary dictionary_;
  Lengths lengths_;
  std::span<const std::byte> lists_;
};

}  // namespace evidex::postings
