// SPDX-License-Identifier: Apache-2.0
// Which rows were removed. A copy shares pages of 65,536 rows with the original until it marks one, so removing costs
// the same however large the index is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace evidex::index {

class DeadRows {
 public:
  using Word = std::uint64_t;

  DeadRows() = default;
  DeadRows(const DeadRows& other) : pages_(other.pages_) {}
  DeadRows& operator=(const DeadRows&) = delete;
  ~DeadRows() = default;

  /// Word `i` of one bit per row.
  Word word(std::size_t i) const noexcept {
    const std::size_t page = i / kPageWords;
    return page < pages_.size() && pages_[page] ? (*pages_[page])[i % kPageWords] : 0;
  }

  /// Whether the row was not marked before.
  bool mark(std::size_t row) {
    Word& word = own_word(row);
    const Word bit = Word{1} << (row % 64);
    return (std::exchange(word, word | bit) & bit) == 0;
  }

  /// Whether the row was marked before.
  bool clear(std::size_t row) {
    Word& word = own_word(row);
    const Word bit = Word{1} << (row % 64);
    return (std::exchange(word, word & ~bit) & bit) != 0;
  }

 private:
  static constexpr std::size_t kPageWords = 1024;
  using Page = std::array<Word, kPageWords>;

  Word& own_word(std::size_t row) {
    const std::size_t page = row / 64 / kPageWords;
    if (pages_.size() <= page) pages_.resize(page + 1);
    if (own_.size() <= page) own_.resize(page + 1);
    std::shared_ptr<Page>& words = pages_[page];
    if (!own_[page]) words = words ? std::make_shared<Page>(*words) : std::make_shared<Page>();
    own_[page] = true;
    return (*words)[row / 64 % kPageWords];
  }

  std::vector<std::shared_ptr<Page>> pages_;
  std::vector<bool> own_;  // pages that no other copy has
};

}  // namespace evidex::index
