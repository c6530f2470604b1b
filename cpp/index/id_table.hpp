// SPDX-License-Identifier: Apache-2.0
// From id to row: open addressing with linear probing and backward-shift deletion, so there are no
// tombstones and nothing degrades with use. After reserve() no insertion can fail, which lets the
// row store publish a batch without any step that might throw half-way.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace evidex::index {

class IdTable {
 public:
  static constexpr std::int64_t kAbsent = -1;

  std::size_t size() const noexcept { return size_; }

  /// Room for `count` ids in all.
  void reserve(std::size_t count) {
    std::size_t wanted = kLeast;
    while (count > wanted / 4 * 3) wanted *= 2;  // at most three quarters full
    if (wanted > slots_.size()) rehash(wanted);
  }

  /// The row of `id`, or kAbsent.
  std::int64_t find(std::int64_t id) const noexcept {
    if (slots_.empty()) return kAbsent;
    const Slot& slot = slots_[locate(id)];
    return slot.id == id ? slot.row : kAbsent;
  }

  /// Adds `id` or points it at another row. Needs room from reserve().
  void assign(std::int64_t id, std::int64_t row) noexcept {
    Slot& slot = slots_[locate(id)];
    if (slot.id != id) ++size_;
    slot = {id, row};
  }

  void erase(std::int64_t id) noexcept {
    if (slots_.empty()) return;
    std::size_t hole = locate(id);
    if (slots_[hole].id != id) return;
    --size_;
    // Move back every later slot of the run that the hole would otherwise cut off from its home.
    for (std::size_t next = step(hole);; next = step(next)) {
      if (slots_[next].id == kEmpty) break;
      const std::size_t from_home = distance(home(slots_[next].id), next);
      if (from_home >= distance(hole, next)) {
        slots_[hole] = slots_[next];
        hole = next;
      }
    }
    slots_[hole] = Slot{};
  }

 private:
  static constexpr std::int64_t kEmpty = -1;  // ids are never negative
  static constexpr std::size_t kLeast = 16;

  struct Slot {
    std::int64_t id = kEmpty;
    std::int64_t row = kAbsent;
  };

  /// Fibonacci hashing (Knuth, vol. 3): the high bits of a product with 2^64 / phi.
  std::size_t home(std::int64_t id) const noexcept {
    const std::uint64_t mixed = static_cast<std::uint64_t>(id) * 0x9E3779B97F4A7C15ULL;
    return static_cast<std::size_t>(mixed >> shift_);
  }
  std::size_t step(std::size_t i) const noexcept { return (i + 1) & (slots_.size() - 1); }
  std::size_t distance(std::size_t from, std::size_t to) const noexcept { return (to - from) & (slots_.size() - 1); }
  std::size_t locate(std::int64_t id) const noexcept {
    std::size_t i = home(id);
    while (slots_[i].id != id && slots_[i].id != kEmpty) i = step(i);
    return i;
  }
  void rehash(std::size_t capacity) {
    std::vector<Slot> old(capacity);
    old.swap(slots_);
    shift_ = 64U - static_cast<unsigned>(std::countr_zero(capacity));
    for (const Slot& slot : old) {
      if (slot.id != kEmpty) slots_[locate(slot.id)] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
  unsigned shift_ = 63;
};

}  // namespace evidex::index
