// SPDX-License-Identifier: Apache-2.0
// P1, P3. Seen red with the test of the rule's number against `allowed` left out (the address
// sanitizer reports it, and undecided rules grant).
#include "access/grant.hpp"

#include <limits>
#include <numeric>
#include <vector>

#include "access/owner_table.hpp"
#include "check.hpp"
#include "random.hpp"

namespace {

using namespace evidex;

std::vector<std::uint64_t> compile(const std::vector<std::uint32_t>& owners, const std::vector<std::uint32_t>& rules,
                                   const std::vector<std::uint8_t>& allowed) {
  std::vector<std::uint64_t> words(owners.size() / 64 + 1);
  access::grant_rows(owners, access::grant_owners(rules, allowed), words.data());
  return words;
}

/// Owner i for row i.
std::vector<std::uint64_t> compile(const std::vector<std::uint32_t>& rules, const std::vector<std::uint8_t>& allowed) {
  std::vector<std::uint32_t> owners(rules.size());
  std::iota(owners.begin(), owners.end(), 0U);
  return compile(owners, rules, allowed);
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

TEST(rows_follow_their_owners) {
  check::Random random(check::seed(), "owners");
  for (std::size_t again = check::times(50, 1000); again > 0; --again) {
    std::vector<std::uint32_t> rules(random.below(200));
    for (std::uint32_t& r : rules) r = random.one_in(5) ? access::kNoRule : static_cast<std::uint32_t>(random.below(6));
    std::vector<std::uint8_t> allowed(4);
    for (std::uint8_t& a : allowed) a = random.one_in(2) ? 1 : 0;
    std::vector<std::uint32_t> owners(random.below(300));
    for (std::uint32_t& owner : owners) owner = static_cast<std::uint32_t>(random.below(rules.size() + 3));
    const auto words = compile(owners, rules, allowed);
    for (std::size_t i = 0; i < owners.size(); ++i) {
      const std::uint32_t rule = owners[i] < rules.size() ? rules[owners[i]] : access::kNoRule;
      CHECK_EQ(bit(words, i), rule < allowed.size() && allowed[rule] != 0);
    }
  }
}
