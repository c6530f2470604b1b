// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/arch/tables.hpp"
#include "kernels/self_test.hpp"
#include "kernels/self_test_values.hpp"

namespace evidex::kernels {
namespace {

constexpr std::size_t kQueries = 5;  // one more than are kept together
constexpr std::size_t kRows = 7;     // one tile of rows and a remainder, whatever the tile
constexpr std::size_t kMostBytes = 192;
constexpr std::size_t kMostDim = 70;

template <class T, std::size_t kSize>
bool same(const std::array<T, kSize>& a, const std::array<T, kSize>& b) {
  using Bytes = std::array<unsigned char, sizeof a>;
  return std::bit_cast<Bytes>(a) == std::bit_cast<Bytes>(b);
}

bool sums_agree(const CodeKernels& mine, const CodeKernels& reference, const std::int8_t* queries,
                const std::uint8_t* rows, std::size_t bytes) {
  std::array<const std::uint8_t*, kRows> planes;
  for (std::size_t r = 0; r < kRows; ++r) planes[r] = rows + r * bytes;
  std::array<std::int32_t, kQueries * kRows> expected{};
  std::array<std::int32_t, kQueries * kRows> sums{};
  for (std::size_t q = 0; q < kQueries; ++q) {
    reference.scan(queries + q * 2 * bytes, rows, kRows, bytes, expected.data() + q * kRows);
    mine.scan(queries + q * 2 * bytes, rows, kRows, bytes, sums.data() + q * kRows);
  }
  if (!same(sums, expected)) return false;
  sums = {};
  mine.tile(queries, kQueries, planes.data(), kRows, bytes, sums.data(), kRows);
  return same(sums, expected);
}

bool sums_agree(const CodeKernels& mine, const CodeKernels& reference, Values& values) {
  std::array<std::int8_t, kQueries * 2 * kMostBytes> queries;
  std::array<std::uint8_t, kRows * kMostBytes> rows;
  for (std::int8_t& code : queries) code = static_cast<std::int8_t>(static_cast<int>(values.bits() % 255) - 127);
  for (std::uint8_t& two : rows) two = static_cast<std::uint8_t>(values.bits());
  for (const std::size_t bytes : {16UL, 32UL, 48UL, 64UL, 80UL, kMostBytes}) {
    if (!sums_agree(mine, reference, queries.data(), rows.data(), bytes)) return false;
  }
  // The largest sums, of either sign, as soon as they would no longer fit narrower integers.
  rows.fill(255);
  for (std::size_t i = 0; i < queries.size(); ++i) queries[i] = i < 2 * kMostBytes ? 127 : -127;
  return sums_agree(mine, reference, queries.data(), rows.data(), kMostBytes);
}

/// One row's code and all that is made of it.
struct Coded {
  std::array<std::int8_t, 2 * kMostBytes> codes{};
  std::array<std::uint8_t, kMostBytes> high{};
  std::array<std::uint8_t, kMostBytes> low{};
  std::array<float, kMostDim> decoded{};
  std::array<double, 2> lost{};
  std::array<std::int32_t, 2> squares{};
  std::array<float, 1> scale{};

  Coded(const CodeKernels& kernels, const float* row, const float* reference, std::size_t dim) {
    const std::size_t bytes = (dim + 31) / 32 * 16;
    scale[0] = kernels.quantise(row, reference, dim, bytes, codes.data(), high.data(), low.data());
    const CodeSums sums = kernels.measure(row, reference, codes.data(), scale[0], dim);
    lost = {sums.high_lost, sums.lost};
    squares = {sums.high_square, sums.square};
    kernels.decode(high.data(), low.data(), bytes, scale[0], dim, decoded.data());
  }
  bool operator==(const Coded& o) const {
    return same(codes, o.codes) && same(high, o.high) && same(low, o.low) && same(decoded, o.decoded) &&
           same(lost, o.lost) && same(squares, o.squares) && same(scale, o.scale);
  }
};

bool coding_agrees(const CodeKernels& mine, const CodeKernels& reference, Values& values) {
  std::array<std::array<float, kMostDim>, 2> centres{};
  std::array<float, kMostDim> row;
  for (float& v : centres[1]) v = values.next();
  for (const float magnitude : {1.0F, 0x1p60F, 0x1p-99F, 0x1p-101F, 0.0F}) {
    for (float& v : row) v = values.next() * magnitude;
    for (const std::size_t dim : {1UL, 7UL, 15UL, 16UL, 17UL, 33UL, 64UL, kMostDim}) {
      for (const auto& centre : centres) {
        if (!(Coded(mine, row.data(), centre.data(), dim) == Coded(reference, row.data(), centre.data(), dim)))
          return false;
      }
    }
  }
  return true;
}

bool unpacking_agrees(const CodeKernels& mine, const CodeKernels& reference, Values& values) {
  constexpr std::size_t kMost = 19;  // whole registers and a tail
  std::array<RowFacts, kMost> facts;
  for (RowFacts& fact : facts) fact = values.bits();
  std::array<float, 3 * kMost> expected;
  std::array<float, 3 * kMost> found;
  reference.unpack(facts.data(), kMost, expected.data(), expected.data() + kMost, expected.data() + 2 * kMost);
  mine.unpack(facts.data(), kMost, found.data(), found.data() + kMost, found.data() + 2 * kMost);
  return same(found, expected);
}

bool bound_agrees(Bound mine, Bound reference, Values& values) {
  constexpr std::size_t kMost = 64;
  std::array<std::int32_t, kMost> sums;
  std::array<std::array<float, kMost>, 3> facts;  // scales, norms, residuals
  for (const float size : {1.0F, 0x1p-70F, 0x1p62F}) {
    for (std::int32_t& sum : sums) sum = static_cast<std::int32_t>(values.bits() >> 40) - (1 << 23);
    for (auto& fact : facts) {
      for (float& v : fact) v = std::fabs(values.next()) * size;
    }
    const BoundTerms terms{2,    -15 * sums[0], 0x1p-24F * size, values.next(), std::fabs(values.next()),
                           1.5F, 0.75F,         0x1p-100F};
    for (const std::size_t n : {1UL, 3UL, 8UL, 17UL, kMost}) {
      std::array<float, 2 * kMost> expected{};
      std::array<float, 2 * kMost> found{};
      const auto run = [&](Bound bound, std::array<float, 2 * kMost>& out) {
        bound(terms, sums.data(), facts[0].data(), facts[1].data(), facts[2].data(), n, out.data(), out.data() + kMost);
      };
      run(mine, found);
      run(reference, expected);
      if (!same(found, expected)) return false;
    }
  }
  return true;
}

template <std::size_t kSize>
bool narrowing_agrees(const HalfKernels& mine, const HalfKernels& reference, const std::array<float, kSize>& values) {
  std::array<std::uint16_t, kSize> expected;
  std::array<std::uint16_t, kSize> found;
  reference.narrow(values.data(), kSize, expected.data());
  mine.narrow(values.data(), kSize, found.data());
  return same(found, expected);
}

/// All finite halves of one sign, widened; of every seventh block also what lies halfway to the next one, and on both
/// sides of that.
bool halves_agree(const HalfKernels& mine, const HalfKernels& reference, std::uint32_t sign) {
  constexpr std::uint32_t kInfinity = 0x7C00;
  constexpr std::uint32_t kBlock = 31;  // whole registers and a tail
  static_assert(kInfinity % kBlock == 0, "each block holds finite halves only");
  for (std::uint32_t begin = 0; begin < kInfinity; begin += kBlock) {
    std::array<std::uint16_t, kBlock> halves;
    for (std::uint32_t i = 0; i < kBlock; ++i) halves[i] = static_cast<std::uint16_t>(sign | (begin + i));
    std::array<float, kBlock> expected;
    std::array<float, kBlock> values;
    reference.widen(halves.data(), kBlock, expected.data());
    mine.widen(halves.data(), kBlock, values.data());
    if (!same(values, expected)) return false;
    if (begin / kBlock % 7 != 0) continue;
    std::array<float, std::size_t{4} * kBlock> around;
    for (std::size_t i = 0; i < kBlock; ++i) {
      const float next = values[i + 1 < kBlock ? i + 1 : i];
      const float halfway = values[i] + (next - values[i]) * 0.5F;
      const auto bits = std::bit_cast<std::uint32_t>(halfway == 0 ? 1.0F : halfway);
      around[4 * i] = values[i];
      around[4 * i + 1] = halfway;
      around[4 * i + 2] = std::bit_cast<float>(bits - 1);
      around[4 * i + 3] = std::bit_cast<float>(bits + 1);
    }
    if (!narrowing_agrees(mine, reference, around)) return false;
  }
  // The least of either kind, the halfway case beyond the largest half, and what overflows.
  constexpr std::array kEdges{0x1p-24F, 0x1p-25F, 0x1.8p-25F, 0x1p-149F, 0x1.ffcp-15F,    0x1.ffep-15F, 65504.0F,
                              65519.0F, 65520.0F, 65521.0F,   65536.0F,  0x1.fffffep127F, 0.0F};
  std::array<float, kEdges.size()> edges;
  for (std::size_t i = 0; i < edges.size(); ++i) edges[i] = sign != 0 ? -kEdges[i] : kEdges[i];
  return narrowing_agrees(mine, reference, edges);
}

bool lookups_agree(const LookupKernels& mine, const LookupKernels& reference, Values& values) {
  constexpr std::size_t kPositions = 24;
  std::array<std::uint8_t, kPositions * kLookupBytes> codes;
  std::array<std::uint8_t, kPositions * kLookupTable> tables;
  std::array<LookupFacts, kLookupRows> facts;
  for (std::uint8_t& code : codes) code = static_cast<std::uint8_t>(values.bits());
  for (LookupFacts& fact : facts) fact = static_cast<LookupFacts>(values.bits()) & 0xBFFFBFFFU;  // no infinity
  for (std::size_t turn = 0; turn < 6; ++turn) {
    for (std::size_t i = 0; i < tables.size(); ++i) {
      const bool second = i % kLookupTable >= kLookupEntries;
      const std::uint64_t entry = turn == 0 ? kMostEntry : values.bits() % (kMostEntry + 1);
      tables[i] = second ? tables[i - kLookupEntries] : static_cast<std::uint8_t>(entry);
    }
    for (const std::size_t positions : {kLookupGroup, 2 * kLookupGroup, kPositions}) {
      std::array<std::uint16_t, kLookupRows> expected;
      std::array<std::uint16_t, kLookupRows> sums;
      reference.sums(codes.data(), tables.data(), positions, expected.data());
      mine.sums(codes.data(), tables.data(), positions, sums.data());
      if (!same(sums, expected)) return false;
      const LookupTerms terms{values.next(), values.next(), values.next()};
      std::array<float, kLookupRows> wanted;
      std::array<float, kLookupRows> found;
      reference.estimates(terms, expected.data(), facts.data(), wanted.data());
      mine.estimates(terms, expected.data(), facts.data(), found.data());
      if (!same(found, wanted)) return false;
    }
  }
  return true;
}

}  // namespace

bool codes_agree_with_scalar(const Table& table) {
  const Table& reference = scalar::kTable;
  Values values;
  if (!sums_agree(table.codes, reference.codes, values)) return false;
  if (!coding_agrees(table.codes, reference.codes, values)) return false;
  if (!unpacking_agrees(table.codes, reference.codes, values)) return false;
  if (!lookups_agree(table.lookups, reference.lookups, values)) return false;
  for (std::size_t m = 0; m < kMetrics.size(); ++m) {
    if (!bound_agrees(table.metrics[m].bound, reference.metrics[m].bound, values)) return false;
  }
  return halves_agree(table.halves, reference.halves, 0) && halves_agree(table.halves, reference.halves, 0x8000);
}

}  // namespace evidex::kernels
