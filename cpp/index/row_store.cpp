// SPDX-License-Identifier: Apache-2.0
#include "index/row_store.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <mutex>
#include <numeric>
#include <string>

#include "base/error.hpp"
#include "base/float_state.hpp"
#include "index/code_writer.hpp"
#include "index/ownership.hpp"
#include "index/relayout.hpp"
#include "index/row_writer.hpp"

namespace evidex::index {
namespace {

std::atomic<std::uint64_t> g_layouts{0};

constexpr std::uint64_t kEndOfIds = std::uint64_t{1} << 63;

}  // namespace

RowStore::RowStore(std::size_t dim, const kernels::Metric& metric, const Storage& storage) {
  if (storage.codec == codecs::Codec::int8 && dim > codecs::kMostCodedDim) {
    throw InvalidInput("dim: codec int8 holds at most " + std::to_string(codecs::kMostCodedDim) +
                       " components per row, got " + std::to_string(dim) + "; use float16 or float32");
  }
  if (dim == 0 && (storage.codec == codecs::Codec::int8 || metric.unit_rows)) {
    throw InvalidInput(
        "dim: rows without components have no direction and no code; use codec float32 and inner_product");
  }
  auto empty = std::make_shared<Snapshot>();
  empty->dim = dim;
  empty->metric = metric;
  empty->codec = storage.codec;
  empty->prescan = storage.prescan && dim >= kLeastCodedDim && dim <= codecs::kMostCodedDim;
  if (storage.codec == codecs::Codec::int8) {
    // A code that is all there is of a row must not depend on other rows: nothing is subtracted.
    empty->reference = std::make_shared<const std::vector<float>>(dim);
  } else if (empty->prescan && storage.reference) {
    empty->reference = storage.reference;
  }
  empty->layout = ++g_layouts;
  empty->owners = owners_;
  current_ = std::move(empty);
}

std::shared_ptr<const Snapshot> RowStore::snapshot() const {
  const std::shared_lock lock(published_);
  return current_;
}

Found RowStore::find(std::span<const std::int64_t> ids) const {
  Found found;
  found.rows.reserve(ids.size());
  learn_ids();
  const std::shared_lock lock(published_);
  found.snapshot = current_;
  for (const std::int64_t id : ids) found.rows.push_back(ids_.find(id));
  return found;
}

void RowStore::check_ids(std::span<const std::int64_t> ids) {
  bool increasing = true;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0) {
      throw InvalidInput("ids: row " + std::to_string(i) + " has id " + std::to_string(ids[i]) +
                         "; ids are 0 or greater");
    }
    increasing = increasing && (i == 0 || ids[i - 1] < ids[i]);
  }
  if (increasing) return;
  std::vector<std::size_t> order(ids.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return ids[a] != ids[b] ? ids[a] < ids[b] : a < b; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (ids[order[i - 1]] == ids[order[i]]) {
      throw InvalidInput("ids: id " + std::to_string(ids[order[i]]) + " stands in rows " +
                         std::to_string(order[i - 1]) + " and " + std::to_string(order[i]) +
                         " of one call; each id may be given once");
    }
  }
}

void RowStore::add(const Batch& batch, Stop& stop) {
  const std::lock_guard writer(writer_);
  append(batch, OnStored::refuse, stop);
}

void RowStore::upsert(const Batch& batch, Stop& stop) {
  const std::lock_guard writer(writer_);
  append(batch, OnStored::replace, stop);
}

std::int64_t RowStore::add_automatic(const Batch& batch, Stop& stop) {
  const std::lock_guard writer(writer_);
  learn_ids();
  const std::size_t n = batch.rules.size();
  if (n > kEndOfIds - next_id_) {
    throw InvalidInput("ids: automatic ids are used up (the largest id stored so far leaves room for " +
                       std::to_string(kEndOfIds - next_id_) + ", " + std::to_string(n) + " are needed); give ids");
  }
  const auto first = static_cast<std::int64_t>(next_id_);
  std::vector<std::int64_t> ids(n);
  for (std::size_t i = 0; i < n; ++i) ids[i] = static_cast<std::int64_t>(next_id_ + i);
  append({ids, batch.vectors, batch.rules, batch.groups}, OnStored::refuse, stop);
  return first;
}

void RowStore::require_row_numbers(const Snapshot& next) {
  constexpr std::size_t kMostRows = std::size_t{1} << 32;
  if (next.rows > kMostRows) throw InvalidInput("vectors: an index holds at most 2**32 rows, removed ones included");
}

std::shared_ptr<Snapshot> RowStore::next_snapshot() const {
  auto next = std::make_shared<Snapshot>(*current_);
  ++next->generation;
  return next;
}

/// Past the row numbers that the last chunk has no room for: nothing is ever stored there, so they count as removed.
void RowStore::skip_to_room(Snapshot& next) {
  const std::size_t before = next.rows;
  next.rows = next.next_row();
  mark_dead(next, before, next.rows);
}

void RowStore::ensure_chunks(Snapshot& next) {
  if (next.rows <= next.map->end()) return;
  auto map = std::make_shared<ChunkMap>(*next.map);
  auto grown = std::make_shared<ChunkList>(*next.chunks);
  while (map->end() < next.rows) {
    const std::size_t rows = map->next_rows();
    map->add(rows);
    grown->push_back(std::make_shared<Chunk>(rows, next.row_bytes()));
  }
  next.map = std::move(map);
  next.chunks = std::move(grown);
}

void RowStore::copy_in(const Snapshot& next, std::size_t first_row, const Batch& batch,
                       std::span<const std::uint32_t> owners, Stop& stop) {
  const FloatState state;
  RowWriter rows(next);
  constexpr std::size_t kRowsPerCheck = 256;
  for (std::size_t done = 0; done < batch.ids.size();) {
    stop.throw_if_requested();
    const std::size_t row = first_row + done;
    const auto [c, at] = next.place(row);
    const std::size_t n = std::min({kRowsPerCheck, batch.ids.size() - done, next.map->rows(c) - at});
    rows.write(batch.vectors, done, n, c, at);
    Chunk& chunk = *(*next.chunks)[c];
    const auto& groups = batch.groups.empty() ? batch.ids : batch.groups;
    std::memcpy(chunk.ids.data() + at, batch.ids.data() + done, n * sizeof(std::int64_t));
    std::memcpy(chunk.owners.data() + at, owners.data() + done, n * sizeof(std::uint32_t));
    std::memcpy(chunk.groups.data() + at, groups.data() + done, n * sizeof(std::int64_t));
    done += n;
  }
}

void RowStore::append(const Batch& batch, OnStored on_stored, Stop& stop) {
  const std::size_t n = batch.ids.size();
  if (n == 0) return;
  check_ids(batch.ids);
  learn_ids();
  // Only this thread writes, so ids_ and current_ may be read here without the lock.
  const auto next = next_snapshot();
  std::shared_ptr<DeadRows> dead;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t stored = ids_.find(batch.ids[i]);
    if (stored == IdTable::kAbsent) continue;
    if (on_stored == OnStored::refuse) {
      throw InvalidInput("ids: row " + std::to_string(i) + " has id " + std::to_string(batch.ids[i]) +
                         ", which is stored already; use upsert to replace it");
    }
    if (!dead) dead = std::make_shared<DeadRows>(*next->dead);
    next->dead_rows += dead->mark(static_cast<std::size_t>(stored)) ? 1 : 0;
  }
  if (dead) next->dead = std::move(dead);
  const bool named = !batch.groups.empty();
  const Ownership ownership = assign_owners(named ? batch.groups : batch.ids, named, batch.rules,
                                            on_stored == OnStored::refuse ? OtherRule::refuse : OtherRule::replace,
                                            *owners_, [&](std::int64_t group) { return owner_of(group); });
  skip_to_room(*next);
  const std::size_t first_row = next->rows;
  next->rows += n;
  require_row_numbers(*next);
  ensure_chunks(*next);
  if (next->reference) ensure_code_chunks(*next);
  copy_in(*next, first_row, batch, ownership.owners, stop);
  if (next->prescan && !next->reference && next->rows >= least_coded_rows(next->dim)) start_codes(*next, stop);

  const std::unique_lock lock(published_);
  ids_.reserve(ids_.size() + n);
  publish_owners(ownership);
  // Nothing below can fail.
  for (std::size_t i = 0; i < n; ++i) {
    ids_.assign(batch.ids[i], static_cast<std::int64_t>(first_row + i));
    next_id_ = std::max(next_id_, static_cast<std::uint64_t>(batch.ids[i]) + 1);
  }
  current_ = next;
}

void RowStore::publish_owners(const Ownership& ownership) {
  group_owners_.reserve(group_owners_.size() + ownership.named.size());
  owners_->set(ownership.rules);
  for (const auto& [group, owner] : ownership.named) group_owners_.assign(group, owner);
}

void RowStore::optimize(std::span<const std::uint32_t> rank_of_rule, Stop& stop) {
  const std::lock_guard writer(writer_);
  learn_ids();
  const std::vector<std::uint32_t> order = clustered_order(*current_, rank_of_rule);
  const std::shared_ptr<Snapshot> next = relaid(*current_, order, stop);
  next->layout = ++g_layouts;
  ++next->generation;
  IdTable ids;
  ids.reserve(order.size());
  for (std::size_t row = 0; row < next->rows; ++row) ids.assign(next->id(row), static_cast<std::int64_t>(row));

  const std::unique_lock lock(published_);
  std::swap(ids_, ids);
  current_ = next;
}

std::int64_t RowStore::owner_of(std::int64_t group) const {
  const std::int64_t named = group_owners_.find(group);
  if (named != IdTable::kAbsent) return named;
  const std::int64_t row = ids_.find(group);
  if (row == IdTable::kAbsent) return IdTable::kAbsent;
  const auto at = static_cast<std::size_t>(row);
  return current_->group(at) == group ? static_cast<std::int64_t>(current_->owner(at)) : IdTable::kAbsent;
}

void RowStore::set_rule(std::span<const std::int64_t> groups, std::uint32_t rule) {
  // The writer's lock too: between a batch's look at the owners and its publication no right may change.
  const std::lock_guard writer(writer_);
  learn_ids();
  std::vector<access::OwnerTable::Entry> entries;
  entries.reserve(groups.size());
  for (const std::int64_t group : groups) {
    const std::int64_t owner = owner_of(group);
    if (owner == IdTable::kAbsent) {
      throw NotFound("group " + std::to_string(group) + " has no rows; no rule was changed");
    }
    entries.push_back({static_cast<std::uint32_t>(owner), rule});
  }
  owners_->set(entries);
}

void RowStore::remove(std::span<const std::int64_t> ids) {
  const std::lock_guard writer(writer_);
  if (ids.empty()) return;
  check_ids(ids);
  learn_ids();
  const auto next = next_snapshot();
  auto dead = std::make_shared<DeadRows>(*next->dead);
  for (const std::int64_t id : ids) {
    const std::int64_t row = ids_.find(id);
    if (row == IdTable::kAbsent) throw NotFound("id " + std::to_string(id) + " is not stored; nothing was removed");
    next->dead_rows += dead->mark(static_cast<std::size_t>(row)) ? 1 : 0;
  }
  next->dead = std::move(dead);

  const std::unique_lock lock(published_);
  for (const std::int64_t id : ids) ids_.erase(id);
  current_ = next;
}

}  // namespace evidex::index
