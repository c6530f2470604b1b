// SPDX-License-Identifier: Apache-2.0
#include "postings/list_writer.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "postings/bit_stream.hpp"
#include "postings/packing.hpp"

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

/// Appends a block of rows from `next` on, and says what the directory keeps of it.
BlockFacts append_block(std::vector<std::byte>& to, std::size_t next, Numbers rows, Numbers values, Numbers lengths,
                        bool weighted) {
  std::array<std::uint32_t, kBlock> numbers;
  for (std::size_t i = 0; i < kBlock; ++i) {
    numbers[i] = static_cast<std::uint32_t>(rows[i] - next);
    next = std::size_t{rows[i]} + 1;
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

/// A value in quarters. Most words occur once; nearly all others several times as a whole.
void append_value(BitWriter& to, std::uint32_t value) {
  to.bits(value != 4, 1);
  if (value == 4) return;
  const bool whole = value % 4 == 0;
  to.bits(whole, 1);
  to.gamma(whole ? value / 4 - 1 : value);
}

/// Entries that are not a block, from row `next` on.
void append_rest(BitWriter& to, std::size_t next, Numbers rows, Numbers values, std::size_t all_rows, bool weighted) {
  if (rows.empty()) return;
  const unsigned low = low_bits(all_rows - next, rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t gap = rows[i] - next;
    next = std::size_t{rows[i]} + 1;
    to.unary(gap >> low);
    to.bits(gap, low);
    if (!weighted) append_value(to, values[i]);
  }
}

}  // namespace

void append_list(std::vector<std::byte>& to, Numbers rows, Numbers values, Numbers lengths, bool weighted) {
  const std::size_t blocks = rows.size() / kBlock;
  {
    BitWriter head(to);
    head.gamma(static_cast<std::uint32_t>(rows.size()));
    if (blocks == 0) {
      append_rest(head, 0, rows, values, lengths.size(), weighted);
    } else if (!weighted) {
      head.gamma(*std::max_element(values.begin(), values.end()));
      head.gamma(std::min(least_length(rows, lengths), std::numeric_limits<std::uint32_t>::max() - 1) + 1);
    }
    head.finish();
  }
  std::size_t next = 0;
  if (blocks > 0) {
    const std::size_t directory = to.size();
    grown(to, blocks * sizeof(BlockFacts));
    const std::size_t first = to.size();
    for (std::size_t b = 0; b < blocks; ++b) {
      const std::size_t at = to.size() - first;
      BlockFacts facts = append_block(to, next, rows.subspan(b * kBlock, kBlock), values.subspan(b * kBlock, kBlock),
                                      lengths, weighted);
      facts.at = static_cast<std::uint32_t>(at);
      std::memcpy(to.data() + directory + b * sizeof(facts), &facts, sizeof(facts));
      next = std::size_t{facts.last_row} + 1;
    }
    BitWriter rest(to);
    append_rest(rest, next, rows.subspan(blocks * kBlock), values.subspan(blocks * kBlock), lengths.size(), weighted);
    rest.finish();
  }
  if (weighted) {
    const Numbers last = values.subspan(blocks * kBlock);
    if (!last.empty()) std::memcpy(grown(to, last.size_bytes()), last.data(), last.size_bytes());
  }
}

}  // namespace evidex::postings
