// SPDX-License-Identifier: Apache-2.0
// Which owner each row of a batch gets, and what that means for the owners' rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "access/owner_table.hpp"

namespace evidex::index {

struct Ownership {
  std::vector<std::uint32_t> owners;                          ///< [n], one per row
  std::vector<access::OwnerTable::Entry> rules;               ///< to be set, new owners included
  std::vector<std::pair<std::int64_t, std::uint32_t>> named;  ///< groups of the batch and their owners
};

enum class OtherRule { refuse, replace };

/// `groups` [n] may name a group several times; `named` says whether they are names of their own or the rows' ids.
/// `find` gives the owner a group has already, or -1. Throws InvalidInput where one group would have two rules: always
/// within the batch, and against what is stored unless that is to be replaced.
Ownership assign_owners(std::span<const std::int64_t> groups, bool named, std::span<const std::uint32_t> rules,
                        OtherRule other_rule, const access::OwnerTable& table,
                        const std::function<std::int64_t(std::int64_t group)>& find);

}  // namespace evidex::index
