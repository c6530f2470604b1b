// SPDX-License-Identifier: Apache-2.0
// The kernel slots with something for each to work on. Rows are stored in the bytes that a slot is said to read and no
// more: a sanitizer reports a slot that reads beyond them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "codecs/int8.hpp"
#include "kernels/table.hpp"

namespace evidex::counts {

using codecs::plane_bytes;
using kernels::Table;

inline constexpr std::size_t kRows = 64;     // of a block: so many a search hands over at a time
inline constexpr std::size_t kQueries = 16;  // of a tile

/// Memory for one slot, filled with the same numbers on every machine.
class World {
 public:
  // NOLINTNEXTLINE(bugprone-random-generator-seed): unpredictable is what the numbers must not be
  World(const Table& its_table, std::size_t its_dim) : table(its_table), dim(its_dim) {}

  /// What a kernel reads of a block's rows; counted.
  template <class T>
  T* rows(std::size_t per_row) {
    row_bytes_ += per_row * sizeof(T);
    return room<T>(kRows * per_row);
  }

  /// Queries, the reference and results: not counted, since rows share them or they are written.
  template <class T>
  T* room(std::size_t size) {
    buffers_.emplace_back(size * sizeof(T));
    auto* const data = reinterpret_cast<T*>(buffers_.back().data());
    for (std::size_t i = 0; i < size; ++i) data[i] = next<T>();
    return data;
  }

  /// The same rows, one pointer each.
  template <class T>
  std::vector<const T*> rows_anywhere(std::size_t per_row) {
    const T* row = rows<T>(per_row);
    std::vector<const T*> pointers(kRows);
    for (std::size_t i = 0; i < kRows; ++i) pointers[i] = row + i * per_row;
    return pointers;
  }

  std::size_t row_bytes() const { return row_bytes_; }

  const Table& table;
  const std::size_t dim;

 private:
  template <class T>
  T next() {
    const auto bits = static_cast<std::uint32_t>(bits_());
    if constexpr (std::is_same_v<T, float>) {
      return static_cast<float>(static_cast<std::int32_t>(bits)) * 0x1p-31F;
    } else if constexpr (std::is_same_v<T, std::int32_t>) {
      return static_cast<std::int32_t>(bits) >> 8;  // as large as sums of codes
    } else {
      return static_cast<T>(bits);
    }
  }

  std::vector<AlignedBuffer<std::byte>> buffers_;  // may move, what they hold does not
  std::size_t row_bytes_ = 0;
  std::mt19937 bits_;  // seeded by default: the same numbers every time
};

/// Runs a slot over one block of rows.
using Block = std::function<void()>;

struct Slot {
  std::string name;
  std::string_view does;
  std::string_view reads;  ///< of a row
  bool tile;               ///< counted per pair of query and row
  std::string_view Table::* kind;
  std::function<Block(World&)> prepare;
};

inline constexpr auto kLanes = &Table::lanes_kind;

inline void add_metric_slots(const kernels::Metric& metric, std::vector<Slot>& slots) {
  const auto m = static_cast<std::size_t>(metric.id);
  const auto add = [&](const std::string& loop, std::string_view does, std::string_view reads, bool tile,
                       std::function<Block(World&)> prepare) {
    slots.push_back({loop + " " + std::string(metric.name), does, reads, tile, kLanes, std::move(prepare)});
  };
  add("scan", "scores of rows in sequence", "the components", false, [m](World& w) -> Block {
    const float* query = w.room<float>(w.dim);
    const float* rows = w.rows<float>(w.dim);
    float* scores = w.room<float>(kRows);
    return [=, &w] { w.table.metrics[m].scan(query, rows, w.dim, kRows, w.dim, scores); };
  });
  add("gather", "scores of rows anywhere", "the components", false, [m](World& w) -> Block {
    const float* query = w.room<float>(w.dim);
    const auto rows = w.rows_anywhere<float>(w.dim);
    float* scores = w.room<float>(kRows);
    return [=, &w] { w.table.metrics[m].gather(query, rows.data(), kRows, w.dim, scores); };
  });
  add("tile", "scores of several queries", "the components, once for all queries", true, [m](World& w) -> Block {
    const float* queries = w.room<float>(kQueries * w.dim);
    const auto rows = w.rows_anywhere<float>(w.dim);
    float* scores = w.room<float>(kQueries * kRows);
    return [=, &w] { w.table.metrics[m].tile(queries, kQueries, rows.data(), kRows, w.dim, scores, kRows); };
  });
  add("bound", "estimates and upper bounds of scores", "sum, scale and two norms", false, [m](World& w) -> Block {
    const auto* sums = w.rows<std::int32_t>(1);
    const std::array<const float*, 3> facts{w.rows<float>(1), w.rows<float>(1), w.rows<float>(1)};
    float* estimates = w.room<float>(kRows);
    float* uppers = w.room<float>(kRows);
    return [=, &w] {
      const kernels::BoundTerms terms{2, 1000, 0x1p-20F, 0.5F, 0.25F, 1.5F, 0.75F, 0x1p-20F};
      w.table.metrics[m].bound(terms, sums, facts[0], facts[1], facts[2], kRows, estimates, uppers);
    };
  });
}

inline Block prepare_reach(World& w) {
  const float* scores = w.rows<float>(1);
  auto* bits = w.room<std::uint64_t>(1);
  return [=, &w] { *bits = w.table.reach(scores, 0.5F); };
}

inline Block prepare_nibble_scan(World& w) {
  const std::size_t bytes = plane_bytes(w.dim);
  const auto* query = w.room<std::int8_t>(2 * bytes);
  const auto* rows = w.rows<std::uint8_t>(bytes);
  auto* sums = w.room<std::int32_t>(kRows);
  return [=, &w] { w.table.codes.scan(query, rows, kRows, bytes, sums); };
}

inline Block prepare_nibble_tile(World& w) {
  const std::size_t bytes = plane_bytes(w.dim);
  const auto* queries = w.room<std::int8_t>(kQueries * 2 * bytes);
  const auto rows = w.rows_anywhere<std::uint8_t>(bytes);
  auto* sums = w.room<std::int32_t>(kQueries * kRows);
  return [=, &w] { w.table.codes.tile(queries, kQueries, rows.data(), kRows, bytes, sums, kRows); };
}

inline Block prepare_unpack(World& w) {
  const auto* facts = w.rows<kernels::RowFacts>(1);
  float* found = w.room<float>(3 * kRows);
  return [=, &w] { w.table.codes.unpack(facts, kRows, found, found + kRows, found + 2 * kRows); };
}

inline Block prepare_quantise(World& w) {
  const std::size_t bytes = plane_bytes(w.dim);
  const float* reference = w.room<float>(w.dim);
  const float* rows = w.rows<float>(w.dim);
  auto* codes = w.room<std::int8_t>(2 * bytes);
  auto* planes = w.room<std::uint8_t>(2 * bytes);
  return [=, &w] {
    for (std::size_t i = 0; i < kRows; ++i) {
      (void)w.table.codes.quantise(rows + i * w.dim, reference, w.dim, bytes, codes, planes, planes + bytes);
    }
  };
}

inline Block prepare_measure(World& w) {
  const float* reference = w.room<float>(w.dim);
  const float* rows = w.rows<float>(w.dim);
  const auto* codes = w.rows<std::int8_t>(w.dim);
  return [=, &w] {
    for (std::size_t i = 0; i < kRows; ++i) {
      (void)w.table.codes.measure(rows + i * w.dim, reference, codes + i * w.dim, 0x1p-7F, w.dim);
    }
  };
}

inline Block prepare_decode(World& w) {
  const std::size_t bytes = plane_bytes(w.dim);
  const auto* high = w.rows<std::uint8_t>(bytes);
  const auto* low = w.rows<std::uint8_t>(bytes);
  float* out = w.room<float>(w.dim);
  return [=, &w] {
    for (std::size_t i = 0; i < kRows; ++i) {
      w.table.codes.decode(high + i * bytes, low + i * bytes, bytes, 0x1p-7F, w.dim, out);
    }
  };
}

inline Block prepare_narrow(World& w) {
  const float* rows = w.rows<float>(w.dim);
  auto* halves = w.room<std::uint16_t>(w.dim);
  return [=, &w] {
    for (std::size_t i = 0; i < kRows; ++i) w.table.halves.narrow(rows + i * w.dim, w.dim, halves);
  };
}

inline Block prepare_widen(World& w) {
  auto* rows = w.rows<std::uint16_t>(w.dim);
  w.table.halves.narrow(w.room<float>(kRows * w.dim), kRows * w.dim, rows);  // halves as rows have them
  float* values = w.room<float>(w.dim);
  return [=, &w] {
    for (std::size_t i = 0; i < kRows; ++i) w.table.halves.widen(rows + i * w.dim, w.dim, values);
  };
}

/// Positions of a code with four dimensions to each.
inline std::size_t lookup_positions(const World& w) {
  constexpr std::size_t kDims = 4 * kernels::kLookupGroup;
  return (w.dim + kDims - 1) / kDims * kernels::kLookupGroup;
}

inline Block prepare_lookup_sums(World& w) {
  const std::size_t positions = lookup_positions(w);
  const auto* codes = w.rows<std::uint8_t>(positions / 2);
  auto* tables = w.room<std::uint8_t>(positions * kernels::kLookupTable);
  for (std::size_t i = 0; i < positions * kernels::kLookupTable; ++i) tables[i] &= kernels::kMostEntry;
  auto* sums = w.room<std::uint16_t>(kRows);
  return [=, &w] { w.table.lookups.sums(codes, tables, positions, sums); };
}

inline Block prepare_lookup_estimates(World& w) {
  const auto* sums = w.rows<std::uint16_t>(1);
  const auto* facts = w.rows<kernels::LookupFacts>(1);
  float* estimates = w.room<float>(kRows);
  return [=, &w] { w.table.lookups.estimates({0.5F, 0.25F, 0x1p-10F}, sums, facts, estimates); };
}

inline std::vector<Slot> all_slots() {
  std::vector<Slot> slots;
  for (const kernels::Metric& metric : kernels::kMetrics) add_metric_slots(metric, slots);
  slots.push_back({"reach", "which scores reach a threshold", "the score", false, &Table::reach_kind, prepare_reach});
  slots.push_back({"nibble scan", "sums of codes, rows in sequence", "one plane", false, kLanes, prepare_nibble_scan});
  slots.push_back({"nibble tile", "sums of codes for several queries", "one plane, once for all queries", true, kLanes,
                   prepare_nibble_tile});
  slots.push_back({"unpack", "scale and norms from a row's facts", "the facts", false, kLanes, prepare_unpack});
  slots.push_back({"quantise", "a row's codes and planes", "the components", false, kLanes, prepare_quantise});
  slots.push_back({"measure", "what the codes lose", "components and codes", false, kLanes, prepare_measure});
  slots.push_back({"decode", "components from planes", "both planes", false, kLanes, prepare_decode});
  slots.push_back({"narrow", "float32 to float16", "the components", false, kLanes, prepare_narrow});
  slots.push_back({"widen", "float16 to float32", "the halves", false, kLanes, prepare_widen});
  slots.push_back({"lookup sums", "sums of table entries over 4-bit codes of four dimensions each", "the code", false,
                   kLanes, prepare_lookup_sums});
  slots.push_back({"lookup estimates", "estimates of scores from those sums", "sum and facts", false, kLanes,
                   prepare_lookup_estimates});
  return slots;
}

// What is no slot: three names.
static_assert((sizeof(Table) - 3 * sizeof(std::string_view)) / sizeof(void*) == 4 * kernels::kMetrics.size() + 11,
              "list the new slot above");

}  // namespace evidex::counts
