// SPDX-License-Identifier: Apache-2.0
#include "search/bitmask.hpp"
#include "base/bits.hpp"

#include <algorithm>
#include <cstring>

namespace evidex::search {

Bitmask::Bitmask(std::size_t rows, std::vector<Word> words) : rows_(rows), words_(std::move(words)) {
  words_.resize(ceil_div(rows, kWordRows));
  if (rows % kWordRows != 0) words_.back() &= (Word{1} << (rows % kWordRows)) - 1;
  summarise();
}

void Bitmask::summarise() {
  const auto summary = [](const std::vector<Word>& below) {
    std::vector<Word> above(ceil_div(below.size(), 64));
    for (std::size_t i = 0; i < below.size(); ++i) above[i / 64] |= Word{below[i] != 0} << (i % 64);
    return above;
  };
  blocks_ = summary(words_);
  regions_ = summary(blocks_);
  count_ = 0;
  for (const Word word : words_) count_ += count_bits(word);
}

Bitmask Bitmask::ones(std::size_t rows) {
  return Bitmask(rows, std::vector<Word>(ceil_div(rows, kWordRows), ~Word{0}));
}

Bitmask Bitmask::from_packed(std::size_t rows, std::span<const std::uint8_t> bytes) {
  static_assert(std::endian::native == std::endian::little, "words are filled from bytes in memory order");
  std::vector<Word> words(ceil_div(rows, kWordRows));
  if (!bytes.empty()) std::memcpy(words.data(), bytes.data(), std::min(bytes.size(), words.size() * sizeof(Word)));
  return Bitmask(rows, std::move(words));
}

Bitmask Bitmask::from_rows(std::size_t rows, std::span<const std::int64_t> numbers) {
  std::vector<Word> words(ceil_div(rows, kWordRows));
  for (const std::int64_t number : numbers) {
    if (number < 0 || static_cast<std::uint64_t>(number) >= rows) continue;
    const auto row = static_cast<std::size_t>(number);
    words[row / kWordRows] |= Word{1} << (row % kWordRows);
  }
  return Bitmask(rows, std::move(words));
}

std::size_t Bitmask::next_used(std::size_t begin) const noexcept {
  if (begin >= words()) return words();
  const auto lowest = [](Word word) { return static_cast<std::size_t>(std::countr_zero(word)); };
  std::size_t block = begin / 64;
  if (const Word rest = from_bit(blocks_[block], begin % 64); rest != 0) return block * 64 + lowest(rest);
  if (++block >= blocks_.size()) return words();
  std::size_t region = block / 64;
  Word blocks = from_bit(regions_[region], block % 64);
  while (blocks == 0 && ++region < regions_.size()) blocks = regions_[region];
  if (blocks == 0) return words();
  block = region * 64 + lowest(blocks);
  return block * 64 + lowest(blocks_[block]);
}

std::size_t Bitmask::used_words() const noexcept {
  std::size_t used = 0;
  for (const Word block : blocks_) used += static_cast<std::size_t>(std::popcount(block));
  return used;
}

Bitmask Bitmask::operator&(const Bitmask& other) const {
  std::vector<Word> both(std::min(words_.size(), other.words_.size()));
  for (std::size_t i = 0; i < both.size(); ++i) both[i] = words_[i] & other.words_[i];
  return Bitmask(std::min(rows_, other.rows_), std::move(both));
}

Bitmask Bitmask::select(std::span<const std::uint8_t> packed) const {
  std::vector<Word> words(words_.size());
  std::size_t position = 0;
  for_each_word(0, words_.size(), [&](std::size_t i, Word visible) {
    for (; visible != 0; visible &= visible - 1, ++position) {
      const bool kept = ((packed[position / 8] >> (position % 8)) & 1) != 0;
      if (kept) words[i] |= visible & (~visible + 1);
    }
  });
  return Bitmask(rows_, std::move(words));
}

}  // namespace evidex::search
