// SPDX-License-Identifier: Apache-2.0
// One bit per row with two levels of summary: a bit per 64 rows and a bit per 4096 rows, set where
// anything below is set. A principal who may read little costs little to search for.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace evidex::search {

class Bitmask {
 public:
  using Word = std::uint64_t;
  static constexpr std::size_t kWordRows = 64;

  /// Takes `words` as they are, apart from bits at or beyond `rows`, which it clears.
  Bitmask(std::size_t rows, std::vector<Word> words);

  static Bitmask ones(std::size_t rows);
  /// Bit i of the mask is bit i % 8 of byte i / 8. `bytes` holds exactly ceil(rows / 8).
  static Bitmask from_packed(std::size_t rows, std::span<const std::uint8_t> bytes);
  /// Row numbers in any order, repeats allowed; each must be below `rows` (negative ones are skipped).
  static Bitmask from_rows(std::size_t rows, std::span<const std::int64_t> numbers);

  std::size_t rows() const noexcept { return rows_; }
  std::size_t count() const noexcept { return count_; }
  std::size_t words() const noexcept { return words_.size(); }
  /// Words that are not zero.
  std::size_t used_words() const noexcept;
  Word word(std::size_t i) const noexcept { return words_[i]; }
  /// Number of the first word from `begin` on that is not zero; words() where there is none.
  std::size_t next_used(std::size_t begin) const noexcept;
  bool test(std::size_t row) const noexcept {
    return row < rows_ && ((words_[row / kWordRows] >> (row % kWordRows)) & 1) != 0;
  }

  /// Rows set in both. Rows that only the longer mask knows are clear in the result.
  Bitmask operator&(const Bitmask& other) const;

  /// The mask whose j-th set bit of *this* is kept where bit j of `packed` is set: turns booleans
  /// aligned with the visible rows into rows. `packed` holds at least count() bits.
  Bitmask select(std::span<const std::uint8_t> packed) const;

  /// Calls f(word index, word) for each word in [begin, end) that is not zero, in order.
  template <class F>
  void for_each_word(std::size_t begin, std::size_t end, F&& f) const;

 private:
  static std::size_t ceil_div(std::size_t a, std::size_t b) { return a / b + (a % b != 0); }
  void summarise();

  std::size_t rows_;
  std::size_t count_ = 0;
  std::vector<Word> words_;    // bit per row
  std::vector<Word> blocks_;   // bit per word
  std::vector<Word> regions_;  // bit per word of blocks_
};

/// Bits of `word` from position `from` up.
inline Bitmask::Word from_bit(Bitmask::Word word, std::size_t from) { return (word >> from) << from; }

template <class F>
void Bitmask::for_each_word(std::size_t begin, std::size_t end, F&& f) const {
  end = end < words_.size() ? end : words_.size();
  if (begin >= end) return;
  const std::size_t first_block = begin / 64;
  const std::size_t first_region = first_block / 64;
  const std::size_t last_region = (end - 1) / 64 / 64;
  for (std::size_t region = first_region; region <= last_region; ++region) {
    Word blocks = regions_[region];
    if (region == first_region) blocks = from_bit(blocks, first_block % 64);
    for (; blocks != 0; blocks &= blocks - 1) {
      const std::size_t block = region * 64 + static_cast<std::size_t>(std::countr_zero(blocks));
      Word words = blocks_[block];
      if (block == first_block) words = from_bit(words, begin % 64);
      for (; words != 0; words &= words - 1) {
        const std::size_t i = block * 64 + static_cast<std::size_t>(std::countr_zero(words));
        if (i >= end) return;
        f(i, words_[i]);
      }
    }
  }
}

}  // namespace evidex::search
