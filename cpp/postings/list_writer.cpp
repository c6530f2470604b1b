// SPDX-License-Identifier: Apache-2.0
#include "postings/list_writer.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "postings/packing.hpp"
#include "postings/varint.hpp"

namespace evidex::postings {
namespace {

using Numbers = std::span<const std::uint32_t>;

std::uint32_t least_length(Numbers rows, Numbers lengths) {
  std::uint32_t least = std::numeric_limits<std::uint32_t>::max();
  for (const std::uint32_t row : rows) least = std::min(least, lengths[row]);
  return least;
}

std::byte* grown(std::vector<std::byte>& to, std::size_t bytes) {
  to.resize(to.size() + bytes);
  return to.data() + to.size() - bytes;
}

void append_packed(std::vector<std::byte>& to, const std::array<std::uint32_t, kBlock>& numbers, unsigned bits) {
  pack(numbers.data(), bits, grown(to, packed_bytes(bits)));
}

std::uint32_t largest(const std::array<std::uint32_t, kBlock>& numbers) {
  return *std::max_element(numbers.begin(), numbers.end());
}

/// Appends a block that follows row `before`, and says what the directory keeps of it.
BlockFacts append_block(std::vector<std::byte>& to, std::uint32_t before, Numbers rows, Numbers values, Numbers lengths,
                        bool weighted) {
  std::array<std::uint32_t, kBlock> numbers;
  for (std::size_t i = 0; i < kBlock; ++i) {
    numbers[i] = rows[i] - before - 1;  // unsigned: before the first row is the largest number
    before = rows[i];
  }
  BlockFacts facts{rows.back(), 0, kUnbounded, 0, static_cast<std::uint8_t>(bits_of(largest(numbers))), 0, 0};
  append_packed(to, numbers, facts.row_bits);
  if (weighted) {
    std::memcpy(grown(to, values.size_bytes()), values.data(), values.size_bytes());
    return facts;
  }
  const bool whole = std::all_of(values.begin(), values.end(), [](std::uint32_t value) { return value % 4 == 0; });
  for (std::size_t i = 0; i < kBlock; ++i) numbers[i] = (whole ? values[i] / 4 : values[i]) - 1;
  const unsigned bits = bits_of(largest(numbers));
  append_packed(to, numbers, bits);
  facts.value_bits = static_cast<std::uint8_t>(bits | (whole ? kWhole : 0U));
  facts.most =
      static_cast<std::uint16_t>(std::min<std::uint32_t>(*std::max_element(values.begin(), values.end()), kUnbounded));
  facts.least_length = static_cast<std::uint16_t>(std::min<std::uint32_t>(least_length(rows, lengths), 0xFFFF));
  return facts;
}

}  // namespace

void append_list(std::vector<std::byte>& to, Numbers rows, Numbers values, Numbers lengths, bool weighted) {
  append_varint(to, rows.size());
  const std::size_t blocks = rows.size() / kBlock;
  std::uint32_t before = std::numeric_limits<std::uint32_t>::max();
  if (blocks > 0) {
    if (!weighted) {
      append_varint(to, *std::max_element(values.begin(), values.end()));
      append_varint(to, least_length(rows, lengths));
    }
    const std::size_t directory = to.size();
    grown(to, blocks * sizeof(BlockFacts));
    const std::size_t first = to.size();
    for (std::size_t b = 0; b < blocks; ++b) {
      const std::size_t at = to.size() - first;
      BlockFacts facts = append_block(to, before, rows.subspan(b * kBlock, kBlock), values.subspan(b * kBlock, kBlock),
                                      lengths, weighted);
      facts.at = static_cast<std::uint32_t>(at);
      std::memcpy(to.data() + directory + b * sizeof(facts), &facts, sizeof(facts));
      before = facts.last_row;
    }
  }
  for (std::size_t i = blocks * kBlock; i < rows.size(); ++i) {
    const std::uint64_t gap = rows[i] - before - 1;
    before = rows[i];
    if (weighted) {
      append_varint(to, gap);
      std::memcpy(grown(to, sizeof(values[i])), &values[i], sizeof(values[i]));
    } else if (values[i] == 4) {  // the usual case: a word that occurs once
      append_varint(to, gap << 1);
    } else {
      append_varint(to, gap << 1 | 1);
      append_varint(to, values[i]);
    }
  }
}

}  // namespace evidex::postings
