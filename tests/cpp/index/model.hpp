// SPDX-License-Identifier: Apache-2.0
// A row store as anyone would write it in ten minutes: one list, every row a struct. The real one is
// compared with it after every step.
#pragma once

#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <vector>

#include "check.hpp"
#include "coding.hpp"
#include "index/row_store.hpp"
#include "kernels/dispatch.hpp"
#include "random.hpp"
#include "reference.hpp"

namespace evidex::check {

struct ModelRow {
  std::int64_t id;
  std::vector<float> vector;  // as stored
  std::uint32_t rule;
  std::int64_t group;
  bool dead;
};

/// Rows to write, with their storage.
struct Rows {
  std::vector<std::int64_t> ids;
  std::vector<float> vectors;
  std::vector<std::uint32_t> rules;
  std::vector<std::int64_t> groups;  // or empty

  index::Batch batch() const { return {ids, vectors.data(), rules, groups}; }

  /// A rule belongs to a group, so it follows from the group's number.
  void give_rules() {
    rules.clear();
    for (const std::int64_t group : groups.empty() ? ids : groups) {
      rules.push_back(static_cast<std::uint32_t>(group % 5));
    }
  }
};

inline Rows random_rows(std::size_t n, std::size_t dim, std::int64_t id_range, Random& random,
                        bool few_values = false) {
  CHECK(n <= static_cast<std::size_t>(id_range) + 1);
  Rows rows;
  std::map<std::int64_t, bool> used;
  while (rows.ids.size() < n) {
    const std::int64_t id = random.between(0, id_range);
    if (!used[id]) rows.ids.push_back(id);
    used[id] = true;
  }
  for (std::size_t i = 0; i < n * dim; ++i) rows.vectors.push_back(few_values ? random.whole(1) : random.real());
  // Under cosine no row may be all zeros.
  for (std::size_t r = 0; dim > 0 && r < n; ++r)
    rows.vectors[r * dim + random.below(dim)] = random.one_in(2) ? 1.0F : -1.0F;
  rows.give_rules();
  return rows;
}

class Model {
 public:
  Model(std::size_t dim, const kernels::Metric& metric, codecs::Codec codec = codecs::Codec::float32)
      : dim_(dim), metric_(metric), codec_(codec) {}

  /// Adds rows; those whose id is stored replace the old row.
  void put(const Rows& rows) {
    for (std::size_t i = 0; i < rows.ids.size(); ++i) {
      const auto stored = row_of_.find(rows.ids[i]);
      if (stored != row_of_.end()) layout_[stored->second].dead = true;
      const auto begin = rows.vectors.begin() + static_cast<std::ptrdiff_t>(i * dim_);
      std::vector<float> vector(begin, begin + static_cast<std::ptrdiff_t>(dim_));
      if (metric_.unit_rows) vector = reference::unit<reference::LibraryFma>(std::move(vector));
      vector = reference::stored(std::move(vector), codec_);
      row_of_[rows.ids[i]] = layout_.size();
      const std::int64_t group = rows.groups.empty() ? rows.ids[i] : rows.groups[i];
      layout_.push_back({rows.ids[i], std::move(vector), rows.rules[i], group, false});
    }
  }
  void remove(std::span<const std::int64_t> ids) {
    for (const std::int64_t id : ids) {
      layout_[row_of_.at(id)].dead = true;
      row_of_.erase(id);
    }
  }

  std::size_t dim() const { return dim_; }
  const std::vector<ModelRow>& layout() const { return layout_; }
  const std::map<std::int64_t, std::size_t>& stored() const { return row_of_; }

 private:
  std::size_t dim_;
  kernels::Metric metric_;
  codecs::Codec codec_;
  std::vector<ModelRow> layout_;
  std::map<std::int64_t, std::size_t> row_of_;  // live ids
};

/// A row as float32, whatever form it is kept in.
inline std::vector<float> vector_of(const index::Snapshot& snapshot, std::size_t row) {
  const auto [c, at] = snapshot.place(row);
  std::vector<float> scratch(snapshot.dim);
  const float* found = snapshot.vector(kernels::active(), c, at, scratch.data());
  return {found, found + snapshot.dim};
}

inline bool is_dead(const index::Snapshot& snapshot, std::size_t row) {
  return ((snapshot.dead_word(row / 64) >> (row % 64)) & 1) != 0;
}

/// Everything a snapshot says, row by row.
inline void check_snapshot(const index::Snapshot& snapshot, const std::vector<ModelRow>& layout) {
  CHECK_EQ(snapshot.rows, layout.size());
  std::size_t live = 0;
  const search::Bitmask alive = snapshot.live();
  for (std::size_t r = 0; r < layout.size(); ++r) {
    const ModelRow& row = layout[r];
    live += row.dead ? 0 : 1;
    CHECK_EQ(alive.test(r), !row.dead);
    CHECK_EQ(snapshot.id(r), row.id);
    CHECK_EQ(snapshot.group(r), row.group);
    const std::vector<float> vector = vector_of(snapshot, r);
    for (std::size_t i = 0; i < row.vector.size(); ++i) CHECK_BITS(vector[i], row.vector[i]);
  }
  CHECK_EQ(snapshot.live_rows(), live);
  CHECK_EQ(alive.count(), live);
  for (std::uint32_t rule = 0; rule < 5; ++rule) {
    std::vector<std::uint8_t> allowed(rule + 1);
    allowed[rule] = 1;
    const search::Bitmask granted = snapshot.grant(allowed);
    CHECK_EQ(granted.rows(), layout.size());
    for (std::size_t r = 0; r < layout.size(); ++r) {
      // A removed row's owner may have gone on to another rule.
      if (!layout[r].dead) CHECK_EQ(granted.test(r), layout[r].rule == rule);
    }
  }
}

}  // namespace evidex::check
