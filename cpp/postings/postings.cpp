// SPDX-License-Identifier: Apache-2.0
#include "postings/postings.hpp"

#include <cstring>
#include <string>
#include <utility>

namespace evidex::postings {
namespace {

bool is_width(std::uint32_t bytes) { return bytes == 1 || bytes == 2 || bytes == 4; }

}  // namespace

Postings::Postings(std::span<const std::byte> bytes, std::shared_ptr<const void> keeper, std::string file)
    : bytes_(bytes), keeper_(std::move(keeper)), file_(std::move(file)), header_() {
  named([this] { parse(); });
}

void Postings::parse() {
  if (bytes_.size() < sizeof(Header)) damaged("shorter than a header");
  std::memcpy(&header_, bytes_.data(), sizeof(Header));
  if (header_.magic != kMagic || header_.weighted > 1) damaged("another kind of file");
  if (header_.rows > kMostRows || header_.terms > bytes_.size() ||
      (weighted() ? header_.length_bytes != 0 : !is_width(header_.length_bytes))) {
    damaged("its header is impossible");
  }
  const std::size_t blocks = Dictionary::block_count(header_.terms);
  const auto* starts = reinterpret_cast<const TermBlock*>(take(blocks, sizeof(TermBlock)));
  lengths_ = Lengths(take(header_.rows, header_.length_bytes), header_.length_bytes);
  const std::byte* terms = take(header_.term_bytes, 1);
  dictionary_ = Dictionary({starts, blocks}, {terms, header_.term_bytes}, header_.terms);
  lists_ = {take(header_.list_bytes, 1), header_.list_bytes};
  if (taken_ != bytes_.size()) damaged("longer than its header says");
}

const std::byte* Postings::take(std::size_t count, std::size_t each) {
  if (each != 0 && count > (bytes_.size() - taken_) / each) damaged("shorter than its header says");
  const std::byte* found = bytes_.data() + taken_;
  taken_ += count * each;
  return found;
}

void Postings::name(const Damaged& damage) const {
  throw CorruptFile(file_.empty() ? damage.what() : file_ + ": " + damage.what());
}

Sizes Postings::sizes() const noexcept {
  const std::size_t lengths = header_.rows * header_.length_bytes;
  return {lists_.size(), bytes_.size() - lists_.size() - lengths, lengths};
}

ListReader Postings::list(const TermPlace& place) const {
  if (place.begin > lists_.size() || place.bytes > lists_.size() - place.begin) damaged("a list is damaged");
  return {lists_.subspan(place.begin, place.bytes), rows(), weighted()};
}

}  // namespace evidex::postings
