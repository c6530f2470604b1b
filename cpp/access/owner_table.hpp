// SPDX-License-Identifier: Apache-2.0
// Which rule each owner of rows has now. An owner is a document, or a row of its own. Rows point at owners and never
// change; a new right is one entry here, and counts for every snapshot at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <shared_mutex>
#include <span>
#include <vector>

namespace evidex::access {

/// No rule: readable by nobody.
inline constexpr std::uint32_t kNoRule = std::numeric_limits<std::uint32_t>::max();

/// Owners are numbered from 0 and never removed. Any thread may call anything.
class OwnerTable {
 public:
  struct Entry {
    std::uint32_t owner;
    std::uint32_t rule;
  };

  std::size_t size() const;
  std::uint32_t rule(std::uint32_t owner) const;

  /// Sets rules, all at once for every reader; owners beyond the last one are added. Rights of owners that were there
  /// are a new generation.
  void set(std::span<const Entry> entries);

  std::uint64_t generation() const;

  /// Calls f(rules of all owners) while none can change.
  template <class F>
  void read(F&& f) const {
    const std::shared_lock lock(mutex_);
    f(std::span<const std::uint32_t>(rules_));
  }

 private:
  mutable std::shared_mutex mutex_;
  std::vector<std::uint32_t> rules_;
  std::uint64_t generation_ = 0;
};

}  // namespace evidex::access
