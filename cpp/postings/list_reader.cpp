// SPDX-License-Identifier: Apache-2.0
#include "postings/list_reader.hpp"

#include <algorithm>
#include <cstring>

namespace evidex::postings {
namespace {

unsigned bits(std::uint8_t of) { return of & (kWhole - 1U); }

std::size_t value_bytes(const BlockFacts& facts, bool weighted) {
  return weighted ? kBlock * sizeof(float) : packed_bytes(bits(facts.value_bits));
}

/// A value that is not 4; at least 1, whatever the bits are.
std::uint32_t other_value(BitReader& from) {
  const bool whole = from.bits(1) != 0;
  const std::uint32_t number = from.gamma();
  return whole ? std::max((number + 1) * 4, std::uint32_t{4}) : number;
}

}  // namespace

ListReader::ListReader(std::span<const std::byte> list, std::size_t rows, bool weighted)
    : last_row_(static_cast<std::uint32_t>(rows - 1)), weighted_(weighted) {
  BitReader head(list);
  size_ = head.gamma();
  if (size_ > rows) damaged("a list is damaged");
  whole_ = size_ / kBlock;
  if (weighted) {
    const std::size_t bytes = size_ % kBlock * sizeof(float);
    if (bytes > list.size()) damaged("a list is damaged");
    rest_values_ = list.last(bytes);
  }
  if (whole_ == 0) {
    rest_ = head;
    return;
  }
  if (!weighted) {
    bounds_.most = head.gamma();
    bounds_.least_length = head.gamma() - 1;
  }
  const std::span<const std::byte> from = head.finish();
  if (from.size() / sizeof(BlockFacts) < whole_) damaged("a list is damaged");
  directory_ = from.first(whole_ * sizeof(BlockFacts));
  blocks_ = from.subspan(directory_.size());
  const BlockFacts last = facts(whole_ - 1);
  if (bits(last.row_bits) > 32 || bits(last.value_bits) > 32) damaged("a list is damaged");
  const std::size_t end = last.at + packed_bytes(last.row_bits) + value_bytes(last, weighted);
  if (end > blocks_.size()) damaged("a list is damaged");
  rest_ = BitReader(blocks_.subspan(end));
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
  if (begin > blocks_.size() || bytes > blocks_.size() - begin) damaged("a list is damaged");
  return blocks_.subspan(begin, bytes);
}

void ListReader::rows(std::size_t block, Numbers& rows) const {
  if (interleaved(block)) {
    rest(&rows, nullptr);
    return;
  }
  const BlockFacts facts = this->facts(block);
  if (facts.row_bits > 32) damaged("a list is damaged");
  unpack(packed(facts, 0, packed_bytes(facts.row_bits)).data(), facts.row_bits, rows.data());
  // 64 bits: whatever the gaps are, the sum does not wrap, so rows ascend.
  std::uint64_t next = block == 0 ? 0 : std::uint64_t{last_row(block - 1)} + 1;
  for (std::uint32_t& row : rows) {
    next += row;
    row = static_cast<std::uint32_t>(next);
    ++next;
  }
  if (next - 1 != facts.last_row || facts.last_row > last_row_) damaged("a list is damaged");
}

void ListReader::values(std::size_t block, Numbers& values) const {
  if (interleaved(block)) {
    rest(nullptr, &values);
    return;
  }
  const BlockFacts facts = this->facts(block);
  if (facts.row_bits > 32 || bits(facts.value_bits) > 32) damaged("a list is damaged");
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
  const std::size_t count = size_ % kBlock;
  std::uint64_t next = whole_ == 0 ? 0 : std::uint64_t{last_row(whole_ - 1)} + 1;
  const std::uint64_t all_rows = std::uint64_t{last_row_} + 1;
  if (next >= all_rows) damaged("a list is damaged");
  const unsigned low = low_bits(all_rows - next, count);
  BitReader from = rest_;
  for (std::size_t i = 0; i < count; ++i) {
    next += from.rice(low);
    if (next >= all_rows) damaged("a list is damaged");
    if (rows != nullptr) (*rows)[i] = static_cast<std::uint32_t>(next);
    if (!weighted_) {
      const std::uint32_t value = from.bits(1) == 0 ? 4 : other_value(from);
      if (values != nullptr) (*values)[i] = value;
    }
    ++next;
  }
  if (weighted_ && values != nullptr) std::memcpy(values->data(), rest_values_.data(), rest_values_.size());
  (void)from.finish();
}

}  // namespace evidex::postings
