// SPDX-License-Identifier: Apache-2.0
#include "postings/assembler.hpp"

#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "base/aligned_buffer.hpp"
#include "base/error.hpp"

namespace evidex::postings {
namespace {

constexpr std::size_t kMostText = std::numeric_limits<std::uint32_t>::max();

template <class T>
std::byte* copied(std::byte* to, const std::vector<T>& from) {
  const std::size_t bytes = from.size() * sizeof(T);
  if (bytes != 0) std::memcpy(to, from.data(), bytes);
  return to + bytes;
}

}  // namespace

Assembler::Assembler(std::vector<std::uint32_t> lengths, bool weighted)
    : lengths_(std::move(lengths)), weighted_(weighted) {
  if (lengths_.size() > kMostRows) {
    throw InvalidInput("documents: at most " + std::to_string(kMostRows) + " in one piece, got " +
                       std::to_string(lengths_.size()));
  }
}

void Assembler::add(std::string_view term, std::span<const std::uint32_t> rows, std::span<const std::uint32_t> values) {
  if (term.size() > kMostTermBytes || text_.size() + term.size() > kMostText) {
    throw InvalidInput("terms: one of " + std::to_string(term.size()) + " bytes is too long, or all together are");
  }
  if (list_at_.size() % kTermsPerOffset == 0) shared_at_.push_back(lists_.size());
  const std::size_t at = lists_.size() - shared_at_.back();
  if (at > std::numeric_limits<std::uint32_t>::max()) throw InvalidInput("documents: too many in one piece");
  list_at_.push_back(static_cast<std::uint32_t>(at));
  text_.insert(text_.end(), term.begin(), term.end());
  text_at_.push_back(static_cast<std::uint32_t>(text_.size()));
  entries_ += rows.size();
  append_list(lists_, rows, values, lengths_, weighted_);
}

std::vector<std::uint32_t> Assembler::slots() const {
  const std::size_t terms = list_at_.size();
  std::vector<std::uint32_t> found(terms == 0 ? 0 : std::bit_ceil(terms + terms / 3 + 1));
  for (std::size_t number = 0; number < terms; ++number) {
    const std::string_view term(text_.data() + text_at_[number], text_at_[number + 1] - text_at_[number]);
    std::size_t at = hash(term) & (found.size() - 1);
    while (found[at] != 0) at = (at + 1) & (found.size() - 1);
    found[at] = static_cast<std::uint32_t>(number + 1);
  }
  return found;
}

std::shared_ptr<const Postings> Assembler::finish() const {
  const std::vector<std::uint32_t> slots = this->slots();
  const std::vector<std::uint32_t> lengths = weighted_ ? std::vector<std::uint32_t>() : lengths_;
  const Header header{kMagic,
                      lengths_.size(),
                      entries_,
                      std::accumulate(lengths_.begin(), lengths_.end(), std::uint64_t{0}),
                      list_at_.size(),
                      text_.size(),
                      lists_.size(),
                      static_cast<std::uint32_t>(slots.size()),
                      weighted_ ? 1U : 0U};
  const std::size_t words = lengths.size() + slots.size() + text_at_.size() + list_at_.size();
  auto buffer =
      std::make_shared<AlignedBuffer<std::byte>>(sizeof(header) + shared_at_.size() * sizeof(std::uint64_t) +
                                                 words * sizeof(std::uint32_t) + text_.size() + lists_.size());
  std::byte* to = buffer->data();
  std::memcpy(to, &header, sizeof(header));
  to = copied(to + sizeof(header), shared_at_);
  for (const auto* part : {&lengths, &slots, &text_at_, &list_at_}) to = copied(to, *part);
  copied(copied(to, text_), lists_);
  const std::span<const std::byte> bytes(buffer->data(), buffer->size());
  return std::make_shared<const Postings>(bytes, std::move(buffer));
}

}  // namespace evidex::postings
