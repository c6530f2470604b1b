// SPDX-License-Identifier: Apache-2.0
#include "access/rule_table.hpp"

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace evidex::access {
namespace {

/// A principal's groups as a set that is quick to ask.
class Groups {
 public:
  explicit Groups(std::span<const std::uint32_t> groups) {
    for (const std::uint32_t group : groups) {
      if (member_.size() <= group) member_.resize(std::size_t{group} + 1);
      member_[group] = true;
    }
  }
  bool any_of(const std::vector<std::uint32_t>& groups) const {
    return std::any_of(groups.begin(), groups.end(),
                       [&](std::uint32_t group) { return group < member_.size() && member_[group]; });
  }

 private:
  std::vector<bool> member_;
};

}  // namespace

std::uint32_t RuleTable::add(Rule rule) {
  const std::unique_lock lock(mutex_);
  const auto number = static_cast<std::uint32_t>(rules_.size());
  if (of_tenant_.size() <= rule.tenant) of_tenant_.resize(std::size_t{rule.tenant} + 1);
  of_tenant_[rule.tenant].push_back(number);
  rules_.push_back(std::move(rule));
  ++generation_;
  return number;
}

void RuleTable::change(std::uint32_t number, Rule rule) {
  const std::unique_lock lock(mutex_);
  if (number >= rules_.size()) throw InvalidInput("rule: no rule has the number " + std::to_string(number));
  if (of_tenant_.size() <= rule.tenant) of_tenant_.resize(std::size_t{rule.tenant} + 1);
  if (rules_[number].tenant != rule.tenant) of_tenant_[rule.tenant].push_back(number);
  rules_[number] = std::move(rule);
  ++generation_;
}

std::size_t RuleTable::size() const {
  const std::shared_lock lock(mutex_);
  return rules_.size();
}

std::uint64_t RuleTable::generation() const {
  const std::shared_lock lock(mutex_);
  return generation_;
}

std::vector<std::uint8_t> RuleTable::decide(std::uint32_t tenant, std::span<const std::uint32_t> groups) const {
  const Groups member(groups);
  const std::shared_lock lock(mutex_);
  std::vector<std::uint8_t> allowed(rules_.size());
  if (tenant >= of_tenant_.size()) return allowed;
  for (const std::uint32_t number : of_tenant_[tenant]) {
    const Rule& rule = rules_[number];
    const bool permits =
        rule.tenant == tenant && !member.any_of(rule.deny) && (rule.any_in_tenant || member.any_of(rule.allow));
    allowed[number] = permits ? 1 : 0;
  }
  return allowed;
}

}  // namespace evidex::access
