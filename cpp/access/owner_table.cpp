// SPDX-License-Identifier: Apache-2.0
#include "access/owner_table.hpp"

#include <algorithm>
#include <mutex>

namespace evidex::access {

std::size_t OwnerTable::size() const {
  const std::shared_lock lock(mutex_);
  return rules_.size();
}

std::uint32_t OwnerTable::rule(std::uint32_t owner) const {
  const std::shared_lock lock(mutex_);
  return owner < rules_.size() ? rules_[owner] : kNoRule;
}

void OwnerTable::set(std::span<const Entry> entries) {
  const std::unique_lock lock(mutex_);
  std::size_t needed = rules_.size();
  for (const Entry& entry : entries) needed = std::max<std::size_t>(needed, std::size_t{entry.owner} + 1);
  const std::size_t there = rules_.size();
  // Doubling by hand: resize() alone would copy everything for every row added on its own.
  if (needed > rules_.capacity()) rules_.reserve(std::max(needed, 2 * rules_.capacity()));
  rules_.resize(needed, kNoRule);
  // Nothing below can fail.
  bool changed = false;
  for (const Entry& entry : entries) {
    changed = changed || (entry.owner < there && rules_[entry.owner] != entry.rule);
    rules_[entry.owner] = entry.rule;
  }
  if (changed) ++generation_;
}

std::uint64_t OwnerTable::generation() const {
  const std::shared_lock lock(mutex_);
  return generation_;
}

}  // namespace evidex::access
