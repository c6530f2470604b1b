// SPDX-License-Identifier: Apache-2.0
// Blocks of numbers come back, at every width, and take the bytes that were promised.
//
// Seen red with a shift that is one too small where a number lies across two words.
#include "postings/packing.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "check.hpp"
#include "random.hpp"

namespace {

using namespace evidex;
using postings::kBlock;

}  // namespace

TEST(numbers_of_every_width_come_back) {
  check::Random random(check::seed(), "packing");
  for (unsigned bits = 0; bits <= 32; ++bits) {
    const check::Note note("bits ", bits);
    for (std::size_t turn = check::times(20, 500); turn > 0; --turn) {
      std::array<std::uint32_t, kBlock> numbers{};
      for (std::uint32_t& number : numbers) {
        number = bits == 0 ? 0 : static_cast<std::uint32_t>(random.next() >> (64 - bits));
      }
      std::vector<std::byte> packed(postings::packed_bytes(bits));  // the sanitizer watches its end
      postings::pack(numbers.data(), bits, packed.data());
      std::array<std::uint32_t, kBlock> again{};
      postings::unpack(packed.data(), bits, again.data());
      CHECK(again == numbers);
      CHECK(postings::bits_of(*std::max_element(numbers.begin(), numbers.end())) <= bits);
    }
  }
}
