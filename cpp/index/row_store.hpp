// SPDX-License-Identifier: Apache-2.0
// The writer's side of an index: append-only rows, an id table, and the newest snapshot. One writer
// at a time (later ones wait); readers take a snapshot and never wait for a batch being copied in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/stop.hpp"
#include "base/writer_mutex.hpp"
#include "index/id_table.hpp"
#include "index/ownership.hpp"
#include "index/segment.hpp"
#include "index/snapshot.hpp"

namespace evidex::index {

/// A batch to write: `vectors` is [n, dim], `rules` [n] (of the rows' groups, kNoRule on an open index), `groups` [n]
/// or empty, which makes each row a group of its own, numbered like its id.
struct Batch {
  std::span<const std::int64_t> ids;
  const float* vectors;
  std::span<const std::uint32_t> rules;
  std::span<const std::int64_t> groups;
};

/// How rows are kept. `prescan`: int8 codes beside them, so that exact searches read less.
struct Storage {
  codecs::Codec codec = codecs::Codec::float32;
  bool prescan = true;
  /// What codes are coded against, where that is decided already: dim components.
  std::shared_ptr<const std::vector<float>> reference = nullptr;
};

struct Range {
  std::size_t first;
  std::size_t count;
};

struct Found {
  std::shared_ptr<const Snapshot> snapshot;
  std::vector<std::int64_t> rows;  // IdTable::kAbsent for unknown ids
};

/// Each write happens whole or throws and changes nothing.
class RowStore {
 public:
  /// With dim 0 rows have no vectors, only ids, groups and rules: for what keeps something else beside them.
  RowStore(std::size_t dim, const kernels::Metric& metric, const Storage& storage = {});

  /// Throws InvalidInput for an id that is negative, repeated in the batch, or already stored, and for a group that
  /// would have two rules.
  void add(const Batch& batch, Stop& stop);

  /// The same with ids of its own choosing: one above the largest id ever stored, and up. Returns the first.
  std::int64_t add_automatic(const Batch& batch, Stop& stop);

  /// Adds new ids and replaces stored ones. A replaced row moves to the end of the layout. Groups that were there get
  /// the rule given.
  void upsert(const Batch& batch, Stop& stop);

  /// Throws NotFound when any id is unknown, InvalidInput when one is repeated.
  void remove(std::span<const std::int64_t> ids);

  /// Appends rows that were encoded before, `rules` [rows] being those of their groups, which replace what the groups
  /// had. Their ids must be new, as those of a store's catalog are; nothing checks that. Returns the first row.
  std::size_t attach(const Segment& segment, std::span<const std::uint32_t> rules, Stop& stop);

  /// Removes rows, or puts back such as were removed: for every snapshot from now on. Their ids stay known.
  void mark(std::span<const Range> ranges, bool dead);

  /// As set_rule, one rule for each group; groups that attached rows do not have are passed over.
  void set_known_rules(std::span<const std::int64_t> groups, std::span<const std::uint32_t> rules);

  /// Automatic ids start at this one or above.
  void skip_ids(std::uint64_t next);
  std::uint64_t next_id() const;

  /// Rows that attached ids have in a snapshot of this store's present layout; kAbsent where it has none, or only a
  /// removed one.
  std::vector<std::int64_t> rows_in(const Snapshot& snapshot, std::span<const std::int64_t> ids) const;

  /// Gives groups another rule, for every snapshot at once. Throws NotFound for a group no row was ever stored of.
  void set_rule(std::span<const std::int64_t> groups, std::uint32_t rule);

  /// Puts rows under one rule side by side, rules in the order of their ranks, and drops removed rows: a new layout.
  /// Ids and every answer stay what they are.
  void optimize(std::span<const std::uint32_t> rank_of_rule, Stop& stop);

  std::shared_ptr<const Snapshot> snapshot() const;

  /// Rows of ids, together with the snapshot they belong to.
  Found find(std::span<const std::int64_t> ids) const;

 private:
  enum class OnStored { refuse, replace };

  void append(const Batch& batch, OnStored on_stored, Stop& stop);
  std::shared_ptr<Snapshot> next_snapshot() const;
  static void ensure_chunks(Snapshot& next);
  static void copy_in(const Snapshot& next, std::size_t first_row, const Batch& batch,
                      std::span<const std::uint32_t> owners, Stop& stop);
  static void require_row_numbers(const Snapshot& next);
  static void skip_to_room(Snapshot& next);
  static void mark_dead(Snapshot& next, std::size_t begin, std::size_t end);
  void publish_owners(const Ownership& ownership);
  void learn_ids() const;
  std::int64_t owner_of(std::int64_t group) const;
  static void check_ids(std::span<const std::int64_t> ids);

  WriterMutex writer_;                   // one writer at a time
  mutable std::shared_mutex published_;  // guards current_, ids_ and group_owners_
  std::shared_ptr<const Snapshot> current_;
  mutable IdTable ids_;
  /// Rows whose ids are not in the table yet: attached ones are looked up by id when somebody asks, if ever.
  mutable std::vector<std::pair<std::size_t, std::size_t>> unlearned_;
  std::shared_ptr<access::OwnerTable> owners_ = std::make_shared<access::OwnerTable>();
  IdTable group_owners_;               // owners of groups that were named; a row without a group is found by its id
  mutable std::uint64_t next_id_ = 0;  // unsigned: may be one past the largest int64
};

}  // namespace evidex::index
