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
#include <vector>

#include "base/stop.hpp"
#include "base/writer_mutex.hpp"
#include "index/id_table.hpp"
#include "index/snapshot.hpp"

namespace evidex::index {

/// A batch to write: `vectors` is [n, dim], `rules` [n] (what access decides about each row), `groups` [n] or
/// empty, which makes each row a group of its own, numbered like its id.
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
};

struct Found {
  std::shared_ptr<const Snapshot> snapshot;
  std::vector<std::int64_t> rows;  // IdTable::kAbsent for unknown ids
};

/// Each write happens whole or throws and changes nothing.
class RowStore {
 public:
  RowStore(std::size_t dim, const kernels::Metric& metric, Storage storage = {});

  /// Throws InvalidInput for an id that is negative, repeated in the batch, or already stored.
  void add(const Batch& batch, Stop& stop);

  /// The same with ids of its own choosing: one above the largest id ever stored, and up. Returns the first.
  std::int64_t add_automatic(const Batch& batch, Stop& stop);

  /// Adds new ids and replaces stored ones. A replaced row moves to the end of the layout.
  void upsert(const Batch& batch, Stop& stop);

  /// Throws NotFound when any id is unknown, InvalidInput when one is repeated.
  void remove(std::span<const std::int64_t> ids);

  std::shared_ptr<const Snapshot> snapshot() const;

  /// Rows of ids, together with the snapshot they belong to.
  Found find(std::span<const std::int64_t> ids) const;

 private:
  enum class OnStored { refuse, replace };

  void append(const Batch& batch, OnStored on_stored, Stop& stop);
  std::shared_ptr<Snapshot> next_snapshot() const;
  static void ensure_chunks(Snapshot& next);
  static void copy_in(const Snapshot& next, std::size_t first_row, const Batch& batch, Stop& stop);
  static void check_ids(std::span<const std::int64_t> ids);

  WriterMutex writer_;                   // one writer at a time
  mutable std::shared_mutex published_;  // guards current_ and ids_
  std::shared_ptr<const Snapshot> current_;
  IdTable ids_;
  std::uint64_t next_id_ = 0;  // unsigned: may be one past the largest int64
};

}  // namespace evidex::index
