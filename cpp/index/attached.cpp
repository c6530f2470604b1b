// SPDX-License-Identifier: Apache-2.0
// The part of a row store that takes in rows which were encoded before, and gives them up by row number: what a
// durable collection does, whose catalog knows ids, documents and revisions.
#include <algorithm>
#include <mutex>
#include <string>

#include "base/error.hpp"
#include "index/code_writer.hpp"
#include "index/ownership.hpp"
#include "index/row_store.hpp"

namespace evidex::index {

void RowStore::mark_dead(Snapshot& next, std::size_t begin, std::size_t end) {
  if (begin == end) return;
  auto dead = std::make_shared<DeadRows>(*next.dead);
  for (std::size_t row = begin; row < end; ++row) next.dead_rows += dead->mark(row) ? 1 : 0;
  next.dead = std::move(dead);
}

std::size_t RowStore::attach(const Segment& segment, std::span<const std::uint32_t> rules, Stop& stop) {
  const std::lock_guard writer(writer_);
  const auto next = next_snapshot();
  if (segment.dim != next->dim || segment.codec != next->codec || segment.rows != rules.size()) {
    throw InvalidInput("segment: its dim, codec or number of rows is not that of the store or of the rules given");
  }
  const Chunk& stored = *segment.chunk;
  for (const auto numbers : {stored.ids, stored.groups}) {
    if (std::any_of(numbers.begin(), numbers.end(), [](std::int64_t number) { return number < 0; })) {
      throw InvalidInput("segment: it holds a negative id or group");
    }
  }
  Ownership ownership;
  {
    const std::shared_lock lock(published_);  // a reader may be learning ids
    ownership = assign_owners(stored.groups, true, rules, OtherRule::replace, *owners_,
                              [&](std::int64_t group) { return owner_of(group); });
  }
  auto map = std::make_shared<ChunkMap>(*next->map);
  map->close(next->rows);
  const std::size_t first_row = map->end();
  mark_dead(*next, next->rows, first_row);  // numbers that the chunk before has no rows for
  next->rows = first_row + segment.rows;
  require_row_numbers(*next);
  auto chunk = std::make_shared<Chunk>(stored.vectors, stored.ids, stored.groups, std::vector<Keeper>{segment.chunk});
  std::copy(ownership.owners.begin(), ownership.owners.end(), chunk->owners.begin());
  map->add(segment.rows);
  auto chunks = std::make_shared<ChunkList>(*next->chunks);
  chunks->push_back(std::move(chunk));
  next->map = std::move(map);
  next->chunks = std::move(chunks);
  attach_codes(*next, segment, stop);

  const std::unique_lock lock(published_);
  unlearned_.reserve(unlearned_.size() + 1);
  publish_owners(ownership);
  unlearned_.emplace_back(first_row, segment.rows);
  current_ = next;
  return first_row;
}

void RowStore::mark(std::span<const Range> ranges, bool dead) {
  const std::lock_guard writer(writer_);
  for (const Range& range : ranges) {
    if (range.first > current_->rows || range.count > current_->rows - range.first) {
      throw InvalidInput("rows: " + std::to_string(range.count) + " from " + std::to_string(range.first) +
                         " on reach beyond the " + std::to_string(current_->rows) + " there are");
    }
  }
  const auto next = next_snapshot();
  auto rows = std::make_shared<DeadRows>(*next->dead);
  for (const Range& range : ranges) {
    for (std::size_t row = range.first; row < range.first + range.count; ++row) {
      if (dead) {
        next->dead_rows += rows->mark(row) ? 1 : 0;
      } else {
        next->dead_rows -= next->has(row) && rows->clear(row) ? 1 : 0;
      }
    }
  }
  next->dead = std::move(rows);
  const std::unique_lock lock(published_);
  current_ = next;
}

void RowStore::set_known_rules(std::span<const std::int64_t> groups, std::span<const std::uint32_t> rules) {
  const std::lock_guard writer(writer_);
  std::vector<access::OwnerTable::Entry> entries;
  {
    const std::shared_lock lock(published_);  // a reader may be learning ids
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const std::int64_t owner = owner_of(groups[i]);
      if (owner != IdTable::kAbsent) entries.push_back({static_cast<std::uint32_t>(owner), rules[i]});
    }
  }
  owners_->set(entries);
}

void RowStore::skip_ids(std::uint64_t next) {
  const std::lock_guard writer(writer_);
  const std::unique_lock lock(published_);
  next_id_ = std::max(next_id_, next);
}

std::uint64_t RowStore::next_id() const {
  learn_ids();
  const std::shared_lock lock(published_);
  return next_id_;
}

std::vector<std::int64_t> RowStore::rows_in(const Snapshot& snapshot, std::span<const std::int64_t> ids) const {
  learn_ids();
  std::vector<std::int64_t> rows;
  rows.reserve(ids.size());
  const std::shared_lock lock(published_);
  const bool same_numbers = snapshot.layout == current_->layout;
  for (const std::int64_t id : ids) {
    const std::int64_t row = same_numbers ? ids_.find(id) : IdTable::kAbsent;
    const bool there = row != IdTable::kAbsent && static_cast<std::size_t>(row) < snapshot.rows &&
                       !snapshot.is_dead(static_cast<std::size_t>(row));
    rows.push_back(there ? row : IdTable::kAbsent);
  }
  return rows;
}

void RowStore::learn_ids() const {
  {
    const std::shared_lock lock(published_);
    if (unlearned_.empty()) return;
  }
  const std::unique_lock lock(published_);
  for (const auto& [first, rows] : unlearned_) {
    ids_.reserve(ids_.size() + rows);
    for (std::size_t row = first; row < first + rows; ++row) {
      const std::int64_t id = current_->id(row);
      next_id_ = std::max(next_id_, static_cast<std::uint64_t>(id) + 1);
      ids_.assign(id, static_cast<std::int64_t>(row));
    }
  }
  unlearned_.clear();
}

}  // namespace evidex::index
