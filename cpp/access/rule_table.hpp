// SPDX-License-Identifier: Apache-2.0
// Access rules by number, and what they decide about a principal. Knows tenants and groups by number, never by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <shared_mutex>
#include <span>
#include <vector>

namespace evidex::access {

struct Rule {
  std::uint32_t tenant = 0;
  bool any_in_tenant = false;        ///< every principal of the tenant, whatever its groups
  std::vector<std::uint32_t> allow;  ///< groups that may read
  std::vector<std::uint32_t> deny;   ///< groups that may not, allowed or not
};

/// Rules are numbered as they are added and never removed. Any thread may call anything.
class RuleTable {
 public:
  std::uint32_t add(Rule rule);

  /// Says something else from now on. Throws InvalidInput for a number never given out.
  void change(std::uint32_t number, Rule rule);

  std::size_t size() const;

  /// Grows with every rule added and every change.
  std::uint64_t generation() const;

  /// One byte per rule: 1 where a principal of this tenant with these groups may read.
  std::vector<std::uint8_t> decide(std::uint32_t tenant, std::span<const std::uint32_t> groups) const;

 private:
  mutable std::shared_mutex mutex_;
  std::vector<Rule> rules_;
  std::vector<std::vector<std::uint32_t>> of_tenant_;  // numbers of the rules that were ever about a tenant
  std::uint64_t generation_ = 0;
};

}  // namespace evidex::access
