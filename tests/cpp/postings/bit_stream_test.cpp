// SPDX-License-Identifier: Apache-2.0
// Numbers of bits come back in their order, whatever they are mixed with, and take the bits that were promised.
//
// Seen red with: a low bit of a gap lost, a byte counted as unread of which bits were read, no look at the end, bits of
// a byte kept that has no room in the register.
#include "postings/bit_stream.hpp"

#include <bit>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "check.hpp"
#include "random.hpp"

namespace {

using namespace evidex;
using check::Random;
using postings::BitReader;
using postings::BitWriter;

enum class Kind { bits, unary, gamma, rice };

struct Number {
  Kind kind;
  std::uint64_t value;
  unsigned low;
};

Number random_number(Random& random) {
  const auto kind = static_cast<Kind>(random.below(4));
  const auto low = static_cast<unsigned>(random.below(33));
  if (kind == Kind::unary) return {kind, random.below(random.one_in(9) ? 300 : 9), 0};
  if (kind == Kind::gamma) return {kind, std::max<std::uint64_t>(random.next() >> (32 + low % 32), 1), 0};
  const std::uint64_t rest = random.next() & ((std::uint64_t{1} << low) - 1);
  if (kind == Kind::bits) return {kind, rest, low};
  return {kind, random.below(random.one_in(9) ? 200 : 4) << low | rest, low};
}

std::size_t written(BitWriter& to, const Number& number) {
  switch (number.kind) {
    case Kind::bits:
      to.bits(number.value, number.low);
      return number.low;
    case Kind::unary:
      to.unary(number.value);
      return number.value + 1;
    case Kind::gamma:
      to.gamma(static_cast<std::uint32_t>(number.value));
      return 2 * static_cast<std::size_t>(std::bit_width(number.value)) - 1;
    case Kind::rice:
      to.unary(number.value >> number.low);
      to.bits(number.value, number.low);
      return (number.value >> number.low) + 1 + number.low;
  }
  return 0;
}

std::uint64_t read(BitReader& from, const Number& number) {
  switch (number.kind) {
    case Kind::bits:
      return from.bits(number.low);
    case Kind::unary:
      return from.unary();
    case Kind::gamma:
      return from.gamma();
    case Kind::rice:
      return from.rice(number.low);
  }
  return 0;
}

}  // namespace

TEST(numbers_come_back_in_their_order) {
  Random random(check::seed(), "bits");
  for (std::size_t turn = check::times(300, 20000); turn > 0; --turn) {
    std::vector<Number> numbers(random.below(60));
    for (Number& number : numbers) number = random_number(random);
    std::vector<std::byte> bytes(random.below(3));
    const std::size_t before = bytes.size();
    BitWriter to(bytes);
    std::size_t bits = 0;
    for (const Number& number : numbers) bits += written(to, number);
    to.finish();
    CHECK_EQ(bytes.size() - before, (bits + 7) / 8);
    for (std::size_t behind = random.below(12); behind > 0; --behind) bytes.push_back(std::byte{0xFF});
    bytes.shrink_to_fit();
    BitReader from(std::span<const std::byte>(bytes).subspan(before));
    for (const Number& number : numbers) CHECK_EQ(read(from, number), number.value);
    CHECK_EQ(from.finish().data() - bytes.data(), static_cast<std::ptrdiff_t>(before + (bits + 7) / 8));
  }
}

TEST(who_reads_behind_the_end_is_told) {
  const std::vector<std::byte> zeros(3);
  BitReader endless(zeros);
  CHECK_THROWS(endless.unary(), CorruptFile, "damaged");
  BitReader large(zeros);
  (void)large.bits(24);
  CHECK(large.finish().empty());
  (void)large.bits(1);
  CHECK_THROWS(large.finish(), CorruptFile, "damaged");
  std::vector<std::byte> bytes;
  BitWriter to(bytes);
  to.unary(32);
  to.bits(0, 32);
  to.finish();
  CHECK_THROWS(BitReader(bytes).gamma(), CorruptFile, "damaged");
}
