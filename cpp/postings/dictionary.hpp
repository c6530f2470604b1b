// SPDX-License-Identifier: Apache-2.0
// Terms in the order of their bytes, and where the list of each is. Sixteen terms are a block: each says how many first
// bytes it shares with the one before, and the bytes that are its own (front coding: Witten, Moffat and Bell, Managing
// Gigabytes, 1999). A term is found by halving over the blocks, and then by reading one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace evidex::postings {

/// Where a term and its list are; a term that is not there has a list of no bytes.
struct TermPlace {
  std::size_t number = 0;  // among the terms
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;

  bool found() const noexcept { return bytes != 0; }
};

struct TermBlock {
  std::uint32_t at;     // its first byte
  std::uint32_t first;  // the first four bytes of its first term, as a number of the same order
};

class DictionaryWriter {
 public:
  /// Terms ascend by their bytes; lists follow one another. Throws InvalidInput where all terms together are too long.
  void add(std::string_view term, std::uint64_t begin, std::uint64_t bytes);

  std::size_t terms() const noexcept { return terms_; }
  const std::vector<std::byte>& bytes() const noexcept { return bytes_; }
  const std::vector<TermBlock>& blocks() const noexcept { return blocks_; }

 private:
  std::size_t terms_ = 0;
  std::string last_;
  std::vector<std::byte> bytes_;
  std::vector<TermBlock> blocks_;
};

/// The bytes may be anybody's: what is found is some place, or Damaged.
class Dictionary {
 public:
  Dictionary() = default;
  /// `blocks` [block_count(terms)].
  Dictionary(std::span<const TermBlock> blocks, std::span<const std::byte> bytes, std::size_t terms)
      : blocks_(blocks), bytes_(bytes), terms_(terms) {}

  static constexpr std::size_t block_count(std::size_t terms) noexcept { return (terms + kTerms - 1) / kTerms; }

  TermPlace find(std::string_view term) const;

 private:
  friend class DictionaryWriter;
  friend class TermWalk;

  static constexpr std::size_t kTerms = 16;  // of a block

  std::span<const std::byte> block(std::size_t number) const;
  std::size_t block_of(std::string_view term) const;

  std::span<const TermBlock> blocks_;
  std::span<const std::byte> bytes_;
  std::size_t terms_ = 0;
};

/// All terms in their order.
class TermWalk {
 public:
  explicit TermWalk(const Dictionary& of) : of_(of) {}

  /// Moves to the first term, then to each next one; false behind the last. Throws Damaged where terms do not
  /// ascend.
  bool next();

  /// Until next() is called again.
  std::string_view term() const noexcept { return term_; }
  const TermPlace& place() const noexcept { return place_; }

 private:
  Dictionary of_;
  std::size_t passed_ = 0;
  std::span<const std::byte> block_;
  std::string term_;
  TermPlace place_;
};

}  // namespace evidex::postings
