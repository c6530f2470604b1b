// SPDX-License-Identifier: Apache-2.0
#include "index/ownership.hpp"

#include <string>

#include "base/error.hpp"
#include "index/id_table.hpp"

namespace evidex::index {
namespace {

[[noreturn]] void refuse(std::size_t row, std::int64_t group, const char* why) {
  throw InvalidInput("rules: row " + std::to_string(row) + " gives group " + std::to_string(group) + why);
}

}  // namespace

Ownership assign_owners(std::span<const std::int64_t> groups, bool named, std::span<const std::uint32_t> rules,
                        OtherRule other_rule, const access::OwnerTable& table,
                        const std::function<std::int64_t(std::int64_t group)>& find) {
  Ownership found;
  found.owners.reserve(groups.size());
  IdTable seen;  // place in found.rules of the groups of this batch; ids are distinct already
  auto next = static_cast<std::uint32_t>(table.size());
  table.read([&](std::span<const std::uint32_t> stored) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (groups[i] < 0) {
        throw InvalidInput("groups: row " + std::to_string(i) + " has group " + std::to_string(groups[i]) +
                           "; groups are 0 or greater");
      }
      if (const std::int64_t at = seen.find(groups[i]); at != IdTable::kAbsent) {
        const access::OwnerTable::Entry& entry = found.rules[static_cast<std::size_t>(at)];
        if (entry.rule != rules[i]) refuse(i, groups[i], " another rule than an earlier row of this call");
        found.owners.push_back(entry.owner);
        continue;
      }
      const std::int64_t owner = find(groups[i]);
      const bool there = owner != IdTable::kAbsent;
      if (there && other_rule == OtherRule::refuse && stored[static_cast<std::size_t>(owner)] != rules[i]) {
        refuse(i, groups[i], " another rule than it has; use set_rule or upsert to change it");
      }
      const std::uint32_t number = there ? static_cast<std::uint32_t>(owner) : next++;
      if (named) {
        seen.reserve(seen.size() + 1);
        seen.assign(groups[i], static_cast<std::int64_t>(found.rules.size()));
        // Also where there is an owner: it may be known by the id of its first row only, which may be removed.
        found.named.emplace_back(groups[i], number);
      }
      found.rules.push_back({number, rules[i]});
      found.owners.push_back(number);
    }
  });
  return found;
}

}  // namespace evidex::index
