// SPDX-License-Identifier: Apache-2.0
#include "postings/list_reader.hpp"

#include <algorithm>
#include <cstring>

#include "postings/varint.hpp"

namespace evidex::postings {
namespace {

[[noreturn]] void corrupt() { throw CorruptFile("postings: a list is damaged; restore the file from a copy"); }

unsigned bits(std::uint8_t of) { return of & (kWhole - 1U); }

std::size_t value_bytes(const BlockFacts& facts, bool weighted) {
  return weighted ? kBlock * sizeof(float) : packed_bytes(bits(facts.value_bits));
}

}  // namespace

ListReader::ListReader(std::span<const std::byte> list, std::size_t rows, bool weighted)
    : last_row_(static_cast<std::uint32_t>(rows - 1)), weighted_(weighted), rest_(list) {
  size_ = take_varint(rest_);
  if (size_ == 0 || size_ > rows) corrupt();
  whole_ = size_ / kBlock;
  if (whole_ == 0) return;
  if (!weighted) {
    bounds_.most = static_cast<std::uint32_t>(take_varint(rest_));
    bounds_.least_length = static_cast<std::uint32_t>(take_varint(rest_));
  }
  if (rest_.size() / sizeof(BlockFacts) < whole_) corrupt();
  directory_ = rest_.first(whole_ * sizeof(BlockFacts));
  blocks_ = rest_.subspan(directory_.size());
  const BlockFacts last = facts(whole_ - 1);
  if (bits(last.row_bits) > 32 || bits(last.value_bits) > 32) corrupt();
  const std::size_t end = last.at + packed_bytes(last.row_bits) + value_bytes(last, weighted);
  if (end > blocks_.size()) corrupt();
  rest_ = blocks_.subspan(end);
  blocks_ = blocks_.first(end);
}

BlockFacts ListReader::facts(std::size_t block) const noexcept {
  BlockFacts facts;
  std::memcpy(&facts, directory_.data() + block * sizeof(facts), sizeof(facts));
  return facts;
}

Bounds ListReader::bounds(std::size_t block) const noexcept {
  if (block >= whole_ || weighted_) return bounds_;
  const BlockFacts facts = this->facts(block);
  return {facts.most == kUnbounded ? bounds_.most : facts.most, facts.least_length};
}

std::span<const std::byte> ListReader::packed(const BlockFacts& facts, std::size_t from, std::size_t bytes) const {
  const std::size_t begin = facts.at + from;
  if (begin > blocks_.size() || bytes > blocks_.size() - begin) corrupt();
  return blocks_.subspan(begin, bytes);
}

void ListReader::rows(std::size_t block, Numbers& rows) const {
  if (interleaved(block)) {
    rest(&rows, nullptr);
    return;
  }
  const BlockFacts facts = this->facts(block);
  if (facts.row_bits > 32) corrupt();
  unpack(packed(facts, 0, packed_bytes(facts.row_bits)).data(), facts.row_bits, rows.data());
  // 64 bits: whatever the gaps are, the sum does not wrap, so rows ascend.
  std::uint64_t next = block == 0 ? 0 : std::uint64_t{last_row(block - 1)} + 1;
  for (std::uint32_t& row : rows) {
    next += row;
    row = static_cast<std::uint32_t>(next);
    ++next;
  }
  if (next - 1 != facts.last_row || facts.last_row > last_row_) corrupt();
}

void ListReader::values(std::size_t block, Numbers& values) const {
  if (interleaved(block)) {
    rest(nullptr, &values);
    return;
  }
  const BlockFacts facts = this->facts(block);
  if (facts.row_bits > 32 || bits(facts.value_bits) > 32) corrupt();
  const std::size_t bytes = value_bytes(facts, weighted_);
  const auto from = packed(facts, packed_bytes(facts.row_bits), bytes);
  if (weighted_) {
    std::memcpy(values.data(), from.data(), bytes);
    return;
  }
  unpack(from.data(), bits(facts.value_bits), values.data());
  const std::uint32_t factor = (facts.value_bits & kWhole) != 0 ? 4 : 1;
  for (std::uint32_t& value : values) value = std::max((value + 1) * factor, std::uint32_t{1});
}

void ListReader::rows_and_values(std::size_t block, Numbers& rows, Numbers& values) const {
  if (interleaved(block)) {
    rest(&rows, &values);
    return;
  }
  this->rows(block, rows);
  this->values(block, values);
}

void ListReader::rest(Numbers* rows, Numbers* values) const {
  std::span<const std::byte> from = rest_;
  std::uint64_t next = whole_ == 0 ? 0 : std::uint64_t{last_row(whole_ - 1)} + 1;
  for (std::size_t i = 0; i < size_ % kBlock; ++i) {
    std::uint64_t gap = take_varint(from);
    std::uint32_t value = 4;
    if (weighted_) {
      if (from.size() < sizeof(value)) corrupt();
      std::memcpy(&value, from.data(), sizeof(value));
      from = from.subspan(sizeof(value));
    } else {
      if ((gap & 1) != 0)
        value = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(take_varint(from), 1, 0xFFFFFFFF));
      gap >>= 1;
    }
    if (gap > last_row_ || next + gap > last_row_) corrupt();
    next += gap;
    if (rows != nullptr) (*rows)[i] = static_cast<std::uint32_t>(next);
    if (values != nullptr) (*values)[i] = value;
    ++next;
  }
}

}  // namespace evidex::postings
