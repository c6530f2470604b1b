// SPDX-License-Identifier: Apache-2.0
// Sums of table entries and the estimates made of them, on every instruction set against one look-up at a time.
//
// B8: the largest entries in as many positions as fit 16 bits. Seen red with: a code's halves exchanged, entries added
// up in bytes over two groups in avx2.cpp, rows stored without being interleaved, the addend taken from the upper half.
#include <bit>
#include <cstdint>
#include <vector>

#include "check.hpp"
#include "kernels/tables.hpp"
#include "random.hpp"

namespace {

using namespace evidex;
using check::Random;

struct Data {
  std::size_t positions;
  std::vector<std::uint8_t> codes;   // [positions, 32]
  std::vector<std::uint8_t> tables;  // [positions, 16]

  std::uint64_t sum(std::size_t row) const {
    std::uint64_t total = 0;
    for (std::size_t p = 0; p < positions; ++p) {
      const std::uint8_t both = codes[p * 32 + row % 32];
      total += tables[p * 16 + (row < 32 ? both % 16 : both / 16)];
    }
    return total;
  }
};

void compare(const Data& data, std::size_t offset) {
  std::vector<std::uint8_t> codes(offset);
  codes.insert(codes.end(), data.codes.begin(), data.codes.end());
  std::vector<std::uint8_t> tables(offset);
  for (std::size_t p = 0; p < data.positions; ++p) {
    const auto entries = data.tables.begin() + static_cast<std::ptrdiff_t>(p * 16);
    for (int twice = 0; twice < 2; ++twice) tables.insert(tables.end(), entries, entries + 16);
  }
  for (const kernels::Table* table : check::runnable_tables()) {
    const check::Note note(table->isa, ", ", data.positions, " positions");
    std::vector<std::uint16_t> sums(kernels::kLookupRows + 1, 12345);
    table->lookups.sums(codes.data() + offset, tables.data() + offset, data.positions, sums.data());
    for (std::size_t row = 0; row < kernels::kLookupRows; ++row) CHECK_EQ(sums[row], data.sum(row));
    CHECK_EQ(sums[kernels::kLookupRows], 12345);
  }
}

}  // namespace

TEST(random_codes_and_entries) {
  Random random(check::seed(), "lookup");
  for (std::size_t i = check::times(300, 5000); i > 0; --i) {
    Data data{8 * (1 + random.below(random.one_in(9) ? 264 : 24)), {}, {}};
    for (std::size_t b = 0; b < 32 * data.positions; ++b)
      data.codes.push_back(static_cast<std::uint8_t>(random.next()));
    for (std::size_t b = 0; b < 16 * data.positions; ++b) {
      data.tables.push_back(static_cast<std::uint8_t>(random.below(kernels::kMostEntry + 1)));
    }
    compare(data, random.below(17));
  }
}

TEST(b8_the_largest_entries_fill_16_bits_and_no_more) {
  CHECK_EQ(kernels::kMostEntry, 31U);
  CHECK(kernels::kMostPositions * kernels::kMostEntry <= 65535);
  CHECK((kernels::kMostPositions + kernels::kLookupGroup) * kernels::kMostEntry > 65535);
  for (const unsigned both : {0x00U, 0xFFU, 0x0FU, 0xF0U}) {
    const std::size_t positions = kernels::kMostPositions;
    Data data{positions, std::vector<std::uint8_t>(32 * positions, static_cast<std::uint8_t>(both)),
              std::vector<std::uint8_t>(16 * positions, 31)};
    compare(data, 1);
    CHECK_EQ(data.sum(0), 31 * positions);
    for (std::size_t p = 0; p < positions; ++p) data.tables[p * 16 + 15] = 0;
    compare(data, 3);
  }
}

TEST(estimates_are_what_the_formula_says) {
  Random random(check::seed(), "estimates");
  for (std::size_t i = check::times(500, 20000); i > 0; --i) {
    const float size = random.one_in(4) ? 0x1p60F : 1.0F;
    const kernels::LookupTerms terms{random.real() * size, random.real(), random.real()};
    std::vector<std::uint16_t> sums;
    std::vector<kernels::LookupFacts> facts;
    std::vector<float> expected;
    for (std::size_t row = 0; row < kernels::kLookupRows; ++row) {
      sums.push_back(static_cast<std::uint16_t>(random.next()));
      facts.push_back(std::bit_cast<std::uint32_t>(random.real() * size) & 0xFFFF0000U);
      facts.back() |= std::bit_cast<std::uint32_t>(random.real()) >> 16;
      const auto factor = std::bit_cast<float>(facts.back() / 65536 * 65536);
      const auto addend = std::bit_cast<float>(facts.back() % 65536 * 65536);
      const float inner = terms.low + terms.step * static_cast<float>(sums.back());
      expected.push_back(terms.base + factor * inner + addend);
    }
    for (const kernels::Table* table : check::runnable_tables()) {
      std::vector<float> found(kernels::kLookupRows);
      table->lookups.estimates(terms, sums.data(), facts.data(), found.data());
      for (std::size_t row = 0; row < found.size(); ++row) CHECK_BITS(found[row], expected[row]);
    }
  }
}
