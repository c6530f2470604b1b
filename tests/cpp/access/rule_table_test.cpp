// SPDX-License-Identifier: Apache-2.0
// What a rule means, against plain sets. Seen red with deny looked at only where the whole tenant may read.
#include "access/rule_table.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "base/error.hpp"
#include "check.hpp"
#include "random.hpp"

namespace {

using namespace evidex;
using Numbers = std::vector<std::uint32_t>;

Numbers some(check::Random& random) {
  Numbers numbers(random.below(4));
  for (std::uint32_t& n : numbers) n = static_cast<std::uint32_t>(random.below(7));
  return numbers;
}

access::Rule rule(check::Random& random) {
  return {static_cast<std::uint32_t>(random.below(3)), random.one_in(4), some(random), some(random)};
}

bool permits(const access::Rule& rule, std::uint32_t tenant, const Numbers& groups) {
  const auto meets = [&](const Numbers& named) {
    const std::set<std::uint32_t> mine(groups.begin(), groups.end());
    return std::any_of(named.begin(), named.end(), [&](std::uint32_t n) { return mine.contains(n); });
  };
  return rule.tenant == tenant && !meets(rule.deny) && (rule.any_in_tenant || meets(rule.allow));
}

}  // namespace

TEST(decisions_follow_rules_and_their_changes) {
  check::Random random(check::seed(), "rules");
  for (std::size_t again = check::times(30, 300); again > 0; --again) {
    access::RuleTable table;
    std::vector<access::Rule> model;
    for (std::size_t step = 0; step < 60; ++step) {
      const std::uint64_t before = table.generation();
      if (model.empty() || random.one_in(3)) {
        model.push_back(rule(random));
        CHECK_EQ(table.add(model.back()), model.size() - 1);
      } else {
        const std::size_t number = random.below(model.size());
        model[number] = rule(random);
        table.change(static_cast<std::uint32_t>(number), model[number]);
      }
      CHECK(table.generation() > before);
      CHECK_EQ(table.size(), model.size());
      const auto tenant = static_cast<std::uint32_t>(random.below(5));
      const Numbers groups = some(random);
      const auto decided = table.decide(tenant, groups);
      CHECK_EQ(decided.size(), model.size());
      for (std::size_t i = 0; i < model.size(); ++i) CHECK_EQ(decided[i] != 0, permits(model[i], tenant, groups));
    }
  }
}

TEST(a_rule_that_was_never_made_cannot_change) {
  access::RuleTable table;
  CHECK_THROWS(table.change(0, {}), InvalidInput, "no rule has the number 0");
}
