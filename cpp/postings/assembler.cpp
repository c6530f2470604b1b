// SPDX-License-Identifier: Apache-2.0
#include "postings/assembler.hpp"

#include <cstring>
#include <numeric>
#include <string>
#include <utility>

#include "base/aligned_buffer.hpp"
#include "base/error.hpp"
#include "postings/list_writer.hpp"

namespace evidex::postings {
namespace {

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
  if (term.size() > kMostTermBytes) {
    throw InvalidInput("terms: expected at most " + std::to_string(kMostTermBytes) + " bytes, got one of " +
                       std::to_string(term.size()));
  }
  const std::size_t begin = lists_.size();
  append_list(lists_, rows, values, lengths_, weighted_);
  dictionary_.add(term, begin, lists_.size() - begin);
  entries_ += rows.size();
}

std::shared_ptr<const Postings> Assembler::finish() const {
  const std::size_t width = weighted_ ? 0 : Lengths::width_of(lengths_);
  const Header header{kMagic,
                      lengths_.size(),
                      entries_,
                      std::accumulate(lengths_.begin(), lengths_.end(), std::uint64_t{0}),
                      dictionary_.terms(),
                      dictionary_.bytes().size(),
                      lists_.size(),
                      static_cast<std::uint32_t>(width),
                      weighted_ ? 1U : 0U};
  auto buffer =
      std::make_shared<AlignedBuffer<std::byte>>(sizeof(header) + dictionary_.blocks().size() * sizeof(TermBlock) +
                                                 lengths_.size() * width + dictionary_.bytes().size() + lists_.size());
  std::byte* to = buffer->data();
  std::memcpy(to, &header, sizeof(header));
  to = copied(to + sizeof(header), dictionary_.blocks());
  if (width != 0) Lengths::write(lengths_, width, to);
  to += lengths_.size() * width;
  copied(copied(to, dictionary_.bytes()), lists_);
  const std::span<const std::byte> bytes(buffer->data(), buffer->size());
  return std::make_shared<const Postings>(bytes, std::move(buffer));
}

}  // namespace evidex::postings
