// SPDX-License-Identifier: Apache-2.0
// Quantising, measuring and decoding on every instruction set against the definition, one component at a time.
//
// P7, B8: codes stay within [-127, 127]. Seen red with: the reference left out of quantise, the difference measured in
// float, a least scale of 2^-140.
#include <cmath>
#include <cstdint>
#include <vector>

#include "check.hpp"
#include "codecs/int8.hpp"
#include "coding.hpp"
#include "kernels/tables.hpp"
#include "random.hpp"

namespace {

using namespace evidex;
using check::Random;

constexpr std::size_t kDims[] = {1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 384, 1000};

struct Row {
  std::vector<float> row;
  std::vector<float> reference;
};

/// What measure adds up, in wider arithmetic: losses of the high plane and of both, then whole squares.
struct Sums {
  long double lost[2] = {0, 0};
  std::int64_t squares[2] = {0, 0};

  Sums(const Row& given, const reference::Code& code) {
    for (std::size_t i = 0; i < given.row.size(); ++i) {
      const long double wanted = static_cast<long double>(given.row[i]) - given.reference[i];
      // Sixteen codes share a high nibble, which stands for the middle of theirs.
      const int middle = (code.whole[i] + 128) / 16 * 16 - 128 + 8;
      const int codes[] = {middle, code.whole[i]};
      for (int level = 0; level < 2; ++level) {
        const long double rest = wanted - static_cast<long double>(code.scale) * codes[level];
        lost[level] += rest * rest;
      }
      squares[0] += std::int64_t{middle / 8} * (middle / 8);
      squares[1] += std::int64_t{code.whole[i]} * code.whole[i];
    }
  }
};

void near(double found, long double wanted, long double size) {
  CHECK(std::fabs(found - wanted) <= 0x1p-40L * wanted + 0x1p-90L * size * size);
}

void compare(const Row& given) {
  const std::size_t dim = given.row.size();
  const std::size_t bytes = codecs::plane_bytes(dim);
  const reference::Code code = reference::code_of(given.row.data(), given.reference.data(), dim);
  const Sums wanted(given, code);
  for (const kernels::Table* table : check::runnable_tables()) {
    const check::Note note(table->isa, ", dim ", dim);
    std::vector<std::int8_t> codes(2 * bytes, 99);
    std::vector<std::uint8_t> high(bytes + 1, 0xAB);
    std::vector<std::uint8_t> low(bytes + 1, 0xAB);
    const float scale = table->codes.quantise(given.row.data(), given.reference.data(), dim, bytes, codes.data(),
                                              high.data(), low.data());
    CHECK_BITS(scale, code.scale);
    for (std::size_t i = 0; i < 2 * bytes; ++i) {
      const int whole = i < dim ? code.whole[i] : 0;
      CHECK(whole >= -127 && whole <= 127);
      CHECK_EQ(int{codes[i]}, whole);
      CHECK_EQ(16 * reference::nibble(high.data(), bytes, i) + reference::nibble(low.data(), bytes, i) - 128, whole);
    }
    CHECK_EQ(int{high[bytes]}, 0xAB);
    CHECK_EQ(int{low[bytes]}, 0xAB);

    const kernels::CodeSums sums =
        table->codes.measure(given.row.data(), given.reference.data(), codes.data(), scale, dim);
    CHECK_EQ(sums.high_square, wanted.squares[0]);
    CHECK_EQ(sums.square, wanted.squares[1]);
    float size = 0;
    for (std::size_t i = 0; i < dim; ++i) {
      size = std::max(size, std::fabs(given.row[i]) + std::fabs(given.reference[i]));
    }
    near(sums.high_lost, wanted.lost[0], size);
    near(sums.lost, wanted.lost[1], size);

    std::vector<float> decoded(dim + 1, 77);
    table->codes.decode(high.data(), low.data(), bytes, scale, dim, decoded.data());
    for (std::size_t i = 0; i < dim; ++i) CHECK_BITS(decoded[i], scale * static_cast<float>(code.whole[i]));
    CHECK_BITS(decoded[dim], 77.0F);
  }
}

std::vector<float> random_vector(std::size_t dim, float size, Random& random) {
  std::vector<float> v(dim);
  for (float& x : v) x = random.real() * size;
  return v;
}

}  // namespace

TEST(random_rows_and_references) {
  Random random(check::seed(), "coding");
  for (const std::size_t dim : kDims) {
    for (std::size_t again = check::times(20, 1000); again > 0; --again) {
      compare({random_vector(dim, 1, random), std::vector<float>(dim)});
      compare({random_vector(dim, 1, random), random_vector(dim, 1, random)});
      const std::vector<float> reference = random_vector(dim, 1000, random);
      std::vector<float> row = reference;
      for (float& x : row) x += random.real();
      compare({row, reference});
    }
  }
}

TEST(b8_extremes_of_either_sign) {
  for (const std::size_t dim : kDims) {
    for (const float size : {1.0F, 127.0F, 0x1p60F, 0x1p-90F, 0.3F}) {
      std::vector<float> row(dim, size);
      compare({row, std::vector<float>(dim)});
      for (std::size_t i = 0; i < dim; i += 2) row[i] = -size;
      compare({row, std::vector<float>(dim)});
      row.assign(dim, 0.0F);
      row[dim - 1] = -size;
      compare({row, std::vector<float>(dim)});
      compare({row, std::vector<float>(dim, size)});
    }
  }
}

TEST(b8_the_longest_rows) {
  constexpr std::size_t kDim = codecs::kMostCodedDim;
  std::vector<float> row(kDim, 127.0F);
  compare({row, std::vector<float>(kDim)});
  for (std::size_t i = 0; i < kDim; i += 2) row[i] = -127;
  compare({row, std::vector<float>(kDim)});
}

TEST(whole_numbers_are_kept_as_they_are_and_halves_go_to_the_even_one) {
  std::vector<float> row;
  for (int code = -127; code <= 127; ++code) row.push_back(static_cast<float>(code));
  for (int code = -127; code < 127; ++code) row.push_back(static_cast<float>(code) + 0.5F);
  compare({row, std::vector<float>(row.size())});
  const reference::Code code = reference::code_of(row.data(), std::vector<float>(row.size()).data(), row.size());
  CHECK_BITS(code.scale, 1.0F);
  CHECK_EQ(code.whole[0], -127);
  CHECK_EQ(code.whole[254], 127);
  CHECK_EQ(code.whole[255], -126);
  CHECK_EQ(code.whole[256], -126);
}

TEST(rows_without_a_usable_scale_are_coded_as_zeros) {
  Random random(check::seed(), "least");
  for (const std::size_t dim : kDims) {
    for (const float size : {0.0F, 0x1p-149F, 1e-40F, std::nextafter(0x1p-100F, 0.0F), 0x1p-100F, 0x1p-99F}) {
      std::vector<float> row(dim, size);
      compare({row, std::vector<float>(dim)});
      row = random_vector(dim, size, random);
      compare({row, random_vector(dim, size, random)});
      compare({row, row});
    }
  }
}

TEST(one_component_outweighs_all_others) {
  Random random(check::seed(), "lone");
  for (const std::size_t dim : kDims) {
    for (const float size : {1e3F, 1e20F, -0x1p62F}) {
      std::vector<float> row = random_vector(dim, 1, random);
      row[random.below(dim)] = size;
      compare({row, random_vector(dim, 1, random)});
    }
  }
}
