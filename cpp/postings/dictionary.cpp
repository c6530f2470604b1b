// SPDX-License-Identifier: Apache-2.0
#include "postings/dictionary.hpp"

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "postings/damaged.hpp"
#include "postings/varint.hpp"

namespace evidex::postings {
namespace {

constexpr unsigned kLong = 15;  // what does not fit into half a byte follows

std::size_t shared_bytes(std::string_view a, std::string_view b) noexcept {
  const std::size_t most = std::min(a.size(), b.size());
  std::size_t same = 0;
  while (same < most && a[same] == b[same]) ++same;
  return same;
}

/// Its first four bytes, zeros behind its end.
std::uint32_t first_bytes(std::string_view term) noexcept {
  std::uint32_t first = 0;
  for (std::size_t i = 0; i < 4; ++i) first = first << 8 | (i < term.size() ? static_cast<unsigned char>(term[i]) : 0U);
  return first;
}

struct Beginning {
  std::size_t shared;
  std::string_view own;
};

std::size_t half(unsigned bits, std::span<const std::byte>& from) {
  if (bits < kLong) return bits;
  const std::uint64_t more = take_varint(from);
  if (more > std::numeric_limits<std::uint32_t>::max()) damaged("a term is damaged");
  return kLong + static_cast<std::size_t>(more);
}

Beginning take_term(std::span<const std::byte>& from) {
  if (from.empty()) damaged("a term is damaged");
  const auto head = static_cast<unsigned>(from.front());
  from = from.subspan(1);
  const std::size_t shared = half(head & 0xF, from);
  const std::size_t own = half(head >> 4, from);
  if (own > from.size()) damaged("a term is damaged");
  const std::string_view bytes(reinterpret_cast<const char*>(from.data()), own);
  from = from.subspan(own);
  return {shared, bytes};
}

/// Where the list of a block's i-th term is, after that of the one before.
void take_place(std::size_t i, std::span<const std::byte>& from, TermPlace& place) {
  place.begin = i == 0 ? take_varint(from) : place.begin + place.bytes;
  place.bytes = take_varint(from);
}

}  // namespace

void DictionaryWriter::add(std::string_view term, std::uint64_t begin, std::uint64_t bytes) {
  const bool first = terms_ % Dictionary::kTerms == 0;
  if (bytes_.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw InvalidInput("terms: all together are too long for one piece");
  }
  if (first) blocks_.push_back({static_cast<std::uint32_t>(bytes_.size()), first_bytes(term)});
  const std::size_t shared = first ? 0 : shared_bytes(last_, term);
  const std::size_t own = term.size() - shared;
  bytes_.push_back(
      static_cast<std::byte>(std::min<std::size_t>(shared, kLong) | std::min<std::size_t>(own, kLong) << 4));
  if (shared >= kLong) append_varint(bytes_, shared - kLong);
  if (own >= kLong) append_varint(bytes_, own - kLong);
  const auto* data = reinterpret_cast<const std::byte*>(term.data());
  bytes_.insert(bytes_.end(), data + shared, data + term.size());
  if (first) append_varint(bytes_, begin);
  append_varint(bytes_, bytes);
  last_ = term;
  ++terms_;
}

std::span<const std::byte> Dictionary::block(std::size_t number) const {
  if (blocks_[number].at > bytes_.size()) damaged("a term is damaged");
  return bytes_.subspan(blocks_[number].at);
}

std::size_t Dictionary::block_of(std::string_view term) const {
  // All that begin as the term does, and the one before them.
  const auto [begin, end] = std::equal_range(blocks_.begin(), blocks_.end(), TermBlock{0, first_bytes(term)},
                                             [](const TermBlock& a, const TermBlock& b) { return a.first < b.first; });
  auto low = static_cast<std::size_t>(begin - blocks_.begin());
  auto high = static_cast<std::size_t>(end - blocks_.begin());
  if (low > 0) --low;
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    std::span<const std::byte> from = block(middle);
    (take_term(from).own <= term ? low : high) = middle;
  }
  return low;
}

TermPlace Dictionary::find(std::string_view term) const {
  if (blocks_.empty()) return {};
  const std::size_t number = block_of(term);
  std::span<const std::byte> from = block(number);
  const std::size_t terms = std::min(kTerms, terms_ - number * kTerms);
  std::size_t same = 0;  // first bytes that `term` has in common with the term before
  TermPlace place;
  for (std::size_t i = 0; i < terms; ++i) {
    const auto [shared, own] = take_term(from);
    take_place(i, from, place);
    if (shared < same) return {};  // above `term`, as all that follow
    if (shared > same) continue;   // differs from it where the one before did
    const std::string_view rest = term.substr(same);
    const std::size_t more = shared_bytes(own, rest);
    if (more == rest.size()) {
      if (own.size() > more) return {};
      place.number = number * kTerms + i;
      return place;
    }
    if (more < own.size() && static_cast<unsigned char>(own[more]) > static_cast<unsigned char>(rest[more])) return {};
    same += more;
  }
  return {};
}

bool TermWalk::next() {
  if (passed_ == of_.terms_) return false;
  const std::size_t i = passed_ % Dictionary::kTerms;
  if (i == 0) block_ = of_.block(passed_ / Dictionary::kTerms);
  const auto [shared, own] = take_term(block_);
  if (shared > term_.size() || (i == 0 && shared != 0)) damaged("a term is damaged");
  if (passed_ > 0 && own <= std::string_view(term_).substr(shared)) damaged("a term is damaged");
  term_.replace(shared, std::string::npos, own);
  take_place(i, block_, place_);
  place_.number = passed_++;
  return true;
}

}  // namespace evidex::postings
