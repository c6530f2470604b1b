// SPDX-License-Identifier: Apache-2.0
#include "postings/postings.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/random.hpp"

namespace evidex::postings {
namespace {

[[noreturn]] void corrupt(const char* what) {
  throw CorruptFile(std::string("postings: ") + what + "; restore the file from a copy");
}

}  // namespace

Postings::Postings(std::span<const std::byte> bytes, std::shared_ptr<const void> keeper)
    : bytes_(bytes), keeper_(std::move(keeper)), header_() {
  if (bytes.size() < sizeof(Header)) corrupt("shorter than a header");
  std::memcpy(&header_, bytes.data(), sizeof(Header));
  if (header_.magic != kMagic || header_.weighted > 1) corrupt("another kind of file");
  if (header_.rows > kMostRows || header_.terms > bytes.size() ||
      (header_.slots != 0 && !std::has_single_bit(header_.slots)) || (header_.slots == 0 && header_.terms != 0)) {
    corrupt("its header is impossible");
  }
  shared_at_ = take<std::uint64_t>((header_.terms + kTermsPerOffset - 1) / kTermsPerOffset);
  lengths_ = take<std::uint32_t>(weighted() ? 0 : header_.rows);
  slots_ = take<std::uint32_t>(header_.slots);
  text_at_ = take<std::uint32_t>(header_.terms + 1);
  list_at_ = take<std::uint32_t>(header_.terms);
  text_ = take<char>(header_.text_bytes);
  lists_ = take<std::byte>(header_.list_bytes);
  if (taken_ != bytes.size()) corrupt("longer than its header says");
}

template <class T>
std::span<const T> Postings::take(std::size_t count) {
  if (count > (bytes_.size() - taken_) / sizeof(T)) corrupt("shorter than its header says");
  const std::span<const T> found(reinterpret_cast<const T*>(bytes_.data() + taken_), count);
  taken_ += count * sizeof(T);
  return found;
}

Sizes Postings::sizes() const noexcept {
  return {lists_.size(), shared_at_.size_bytes() + list_at_.size_bytes() + sizeof(Header),
          text_at_.size_bytes() + text_.size(), slots_.size_bytes(), lengths_.size_bytes()};
}

std::uint32_t hash(std::string_view term) noexcept {
  std::uint64_t mixed = term.size();
  while (!term.empty()) {
    std::uint64_t part = 0;
    const std::size_t bytes = std::min(term.size(), sizeof(part));
    std::memcpy(&part, term.data(), bytes);
    mixed = Random(mixed ^ part).next();
    term.remove_prefix(bytes);
  }
  return static_cast<std::uint32_t>(mixed >> 32);
}

std::size_t Postings::find(std::string_view term) const noexcept {
  const std::size_t last = slots_.size() - 1;
  if (slots_.empty()) return kNone;
  std::size_t at = hash(term) & last;
  for (std::size_t tries = 0; tries < slots_.size(); ++tries, at = (at + 1) & last) {
    const std::uint32_t slot = slots_[at];
    if (slot == 0 || slot > header_.terms) return kNone;
    const std::size_t begin = text_at_[slot - 1];
    const std::size_t end = text_at_[slot];
    if (end - begin == term.size() && begin <= end && end <= text_.size() &&
        std::memcmp(text_.data() + begin, term.data(), term.size()) == 0) {
      return slot - 1;
    }
  }
  return kNone;
}

std::string_view Postings::term(std::size_t number) const {
  const std::size_t begin = text_at_[number];
  const std::size_t end = text_at_[number + 1];
  if (begin > end || end > text_.size()) corrupt("a term is damaged");
  return {text_.data() + begin, end - begin};
}

ListReader Postings::list(std::size_t number) const {
  const std::uint64_t begin = shared_at_[number / kTermsPerOffset] + list_at_[number];
  if (begin > lists_.size()) corrupt("a list is damaged");
  return {lists_.subspan(begin), rows(), weighted()};
}

}  // namespace evidex::postings
