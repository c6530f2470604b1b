// SPDX-License-Identifier: Apache-2.0
// P1, P3. Seen red with the test of the rule's number against `allowed` left out (the address
// sanitizer reports it, and undecided rules grant).
#include "access/grant.hpp"

#include <limits>
#include <vector>

#include "check.hpp"
#include "random.hpp"

namespace {

using namespace evidex;

std::vector<std::uint64_t> compile(const std::vector<std::uint32_t>& rules, const std::vector<std::uint8_t>& allowed) {
  std::vector<std::uint64_t> words(rules.size() / 64 + 1);
  access::compile_grant(rules, allowed, words.data());
  return words;
}

bool bit(const std::vector<std::uint64_t>& words, std::size_t i) { return ((words[i / 64] >> (i % 64)) & 1) != 0; }

}  // namespace

TEST(rows_of_allowed_rules_and_no_others) {
  check::Random random(check::seed(), "grant");
  for (const std::size_t n : {0U, 1U, 63U, 64U, 65U, 127U, 128U, 1000U}) {
    for (std::size_t again = check::times(20, 500); again > 0; --again) {
      const check::Note note(n, " rows");
      const std::size_t decided = random.below(9);
      std::vector<std::uint8_t> allowed(decided);
      for (std::uint8_t& a : allowed) a = random.one_in(2) ? static_cast<std::uint8_t>(random.below(256)) : 0;
      std::vector<std::uint32_t> rules(n);
      for (std::uint32_t& r : rules) r = static_cast<std::uint32_t>(random.below(12));
      const auto words = compile(rules, allowed);
      for (std::size_t i = 0; i < n; ++i) {
        CHECK_EQ(bit(words, i), rules[i] < decided && allowed[rules[i]] != 0);
      }
      for (std::size_t i = n; i < words.size() * 64; ++i) CHECK(!bit(words, i));
    }
  }
}

TEST(undecided_rules_grant_nothing) {
  const std::uint32_t last = std::numeric_limits<std::uint32_t>::max();
  const std::vector<std::uint32_t> rules{0, 1, 2, last, last - 1, 0x80000000U};
  CHECK_EQ(compile(rules, {})[0], 0U);
  CHECK_EQ(compile(rules, {0, 0})[0], 0U);
  CHECK_EQ(compile(rules, {1, 255})[0], 3U);
}
