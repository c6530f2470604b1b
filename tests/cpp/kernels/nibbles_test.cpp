// SPDX-License-Identifier: Apache-2.0
// Sums of nibbles times signed bytes on every instruction set against 64-bit arithmetic, one product at a time.
//
// P7, B8: extremes of either sign, alternating ones, and lengths up to where sums fill 32 bits. Seen red with: high
// nibbles multiplied unshifted in avx2.cpp, so that its multiply-add saturates; sums kept in 16 bits in avx2.cpp and in
// scalar.cpp; a nibble taken from a signed byte in scalar.cpp; with the sanitizer, `combined` in 32 bits.
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <vector>

#include "check.hpp"
#include "codecs/error_bound.hpp"
#include "codecs/int8.hpp"
#include "coding.hpp"
#include "kernels/tables.hpp"
#include "random.hpp"

namespace {

using namespace evidex;
using check::Random;

struct Data {
  std::size_t bytes;
  std::vector<std::int8_t> queries;  // [., 2 * bytes]
  std::vector<std::uint8_t> rows;    // [., bytes]

  std::size_t count() const { return queries.size() / (2 * bytes); }
  std::size_t n() const { return rows.size() / bytes; }
};

std::int64_t sum(const Data& data, std::size_t q, std::size_t r) {
  std::int64_t total = 0;
  for (std::size_t i = 0; i < 2 * data.bytes; ++i) {
    total += std::int64_t{reference::nibble(data.rows.data() + r * data.bytes, data.bytes, i)} *
             data.queries[q * 2 * data.bytes + i];
  }
  return total;
}

constexpr std::int32_t kUntouched = 123456789;

/// Rows in sequence and by pointers in another order, from addresses off any alignment.
void compare(const Data& data, std::size_t offset = 1) {
  std::vector<std::int64_t> expected(data.count() * data.n());
  for (std::size_t q = 0; q < data.count(); ++q) {
    for (std::size_t r = 0; r < data.n(); ++r) expected[q * data.n() + r] = sum(data, q, r);
  }
  std::vector<std::int8_t> queries(offset);
  queries.insert(queries.end(), data.queries.begin(), data.queries.end());
  std::vector<std::uint8_t> rows(offset);
  rows.insert(rows.end(), data.rows.begin(), data.rows.end());
  std::vector<const std::uint8_t*> reversed;
  for (std::size_t r = data.n(); r > 0; --r) reversed.push_back(rows.data() + offset + (r - 1) * data.bytes);

  const std::size_t stride = data.n() + 1;
  for (const kernels::Table* table : check::runnable_tables()) {
    const check::Note note(table->isa, ", ", data.bytes, " bytes, ", data.count(), " x ", data.n());
    std::vector<std::int32_t> found(data.count() * stride, kUntouched);
    table->codes.tile(queries.data() + offset, data.count(), reversed.data(), data.n(), data.bytes, found.data(),
                      stride);
    std::vector<std::int32_t> in_sequence(data.count() * stride, kUntouched);
    for (std::size_t q = 0; q < data.count(); ++q) {
      table->codes.scan(queries.data() + offset + q * 2 * data.bytes, rows.data() + offset, data.n(), data.bytes,
                        in_sequence.data() + q * stride);
      for (std::size_t r = 0; r < data.n(); ++r) {
        CHECK_EQ(in_sequence[q * stride + r], expected[q * data.n() + r]);
        CHECK_EQ(found[q * stride + r], expected[q * data.n() + data.n() - 1 - r]);
      }
      CHECK_EQ(in_sequence[q * stride + data.n()], kUntouched);
      CHECK_EQ(found[q * stride + data.n()], kUntouched);
    }
  }
}

template <class Query, class Row>
Data make(std::size_t bytes, std::size_t count, std::size_t n, Query query, Row row) {
  Data data{bytes, std::vector<std::int8_t>(count * 2 * bytes), std::vector<std::uint8_t>(n * bytes)};
  for (std::size_t i = 0; i < data.queries.size(); ++i) data.queries[i] = static_cast<std::int8_t>(query(i));
  for (std::size_t i = 0; i < data.rows.size(); ++i) data.rows[i] = static_cast<std::uint8_t>(row(i));
  return data;
}

Data random_codes(std::size_t bytes, std::size_t count, std::size_t n, Random& random) {
  return make(
      bytes, count, n, [&](std::size_t) { return random.between(-127, 127); },
      [&](std::size_t) { return random.below(256); });
}

constexpr std::size_t kDims[] = {1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 384, 1024, 4096};

}  // namespace

TEST(random_codes_of_every_shape) {
  Random random(check::seed(), "nibbles");
  for (std::size_t bytes = 16; bytes <= 320; bytes += 16) {
    for (const std::size_t count : {1U, 2U, 3U, 4U, 5U, 9U}) {
      compare(random_codes(bytes, count, 1 + random.below(13), random), random.below(17));
    }
  }
  for (const std::size_t n : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U, 9U, 63U, 64U}) {
    compare(random_codes(192, 1, n, random));
    compare(random_codes(48, 5, n, random));
  }
}

TEST(b8_extremes_of_either_sign) {
  const int largest[] = {127, -127, -1, 1, 0};
  for (const std::size_t dim : kDims) {
    const std::size_t bytes = codecs::plane_bytes(dim);
    for (const int both : {0xFF, 0x00, 0xF0, 0x0F, 0x88}) {
      // One query per value; the rest alternate, whichever neighbours an instruction adds up.
      const Data same = make(
          bytes, std::size(largest), 5, [&](std::size_t i) { return largest[i / (2 * bytes)]; },
          [&](std::size_t) { return both; });
      compare(same);
      for (const std::size_t run : {1U, 2U, 4U, 8U, 32U}) {
        compare(make(
            bytes, 2, 5, [&](std::size_t i) { return i / run % 2 == 0 ? 127 : -127; },
            [&](std::size_t i) { return i / run % 2 == 0 ? both : both ^ 0xFF; }));
      }
    }
  }
}

TEST(b8_the_longest_rows_fill_32_bits_and_no_more) {
  constexpr std::size_t kDim = codecs::kMostCodedDim;
  const std::size_t bytes = codecs::plane_bytes(kDim);
  const Data data = make(
      bytes, 2, 2, [&](std::size_t i) { return i < 2 * bytes ? 127 : -127; },
      [&](std::size_t i) { return i < bytes ? 0xFF : 0; });
  compare(data);
  compare(make(bytes, 1, 5, [](std::size_t i) { return i % 2 == 0 ? 127 : -127; }, [](std::size_t) { return 0xF0; }));
  CHECK_EQ(sum(data, 0, 0), std::int64_t{15} * 127 * kDim);
}

TEST(b8_whole_codes_from_both_planes) {
  // The sum of two planes is the sum of whole codes: 127 * 127 * dim is what 32 bits must hold.
  for (const std::size_t dim :
       {std::size_t{1}, std::size_t{16}, std::size_t{33}, std::size_t{4096}, codecs::kMostCodedDim}) {
    const std::size_t bytes = codecs::plane_bytes(dim);
    for (const int query_code : {127, -127}) {
      for (const int row_code : {127, -127, 0}) {
        Data high = make(
            bytes, 1, 1, [&](std::size_t i) { return i < dim ? query_code : 0; },
            [&](std::size_t) { return (row_code + 128) / 16 * 0x11; });
        Data low = high;
        for (std::uint8_t& both : low.rows) both = static_cast<std::uint8_t>((row_code + 128) % 16 * 0x11);
        codecs::QueryBounds bounds{};
        bounds.total = static_cast<std::int32_t>(query_code * static_cast<int>(dim));
        for (const kernels::Table* table : check::runnable_tables()) {
          std::int32_t sums[2];
          table->codes.scan(high.queries.data(), high.rows.data(), 1, bytes, &sums[0]);
          table->codes.scan(low.queries.data(), low.rows.data(), 1, bytes, &sums[1]);
          const auto wanted = static_cast<std::int64_t>(dim) * query_code * row_code;
          CHECK(std::abs(wanted) <= std::numeric_limits<std::int32_t>::max());
          CHECK_EQ(bounds.combined(sums[0], sums[1]), wanted);
        }
      }
    }
  }
}
