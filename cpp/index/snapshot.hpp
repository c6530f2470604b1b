// SPDX-License-Identifier: Apache-2.0
// An immutable view of a row store: how many rows it has, where they lie, which were removed. A
// search pins one and is untouched by whatever is written meanwhile.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "access/owner_table.hpp"
#include "codecs/codec.hpp"
#include "index/chunk_map.hpp"
#include "index/chunks.hpp"
#include "index/dead_rows.hpp"
#include "kernels/metrics.hpp"
#include "kernels/table.hpp"
#include "search/bitmask.hpp"

namespace evidex::index {

struct Snapshot {
  using Word = search::Bitmask::Word;

  std::size_t dim = 0;
  kernels::Metric metric{};
  codecs::Codec codec = codecs::Codec::float32;
  std::uint64_t layout = 0;      // numbering of rows; unique among stores of this process
  std::uint64_t generation = 0;  // counts publications
  std::size_t rows = 0;          // dead ones included
  std::size_t dead_rows = 0;
  /// Not part of the picture: rights are always the newest.
  std::shared_ptr<const access::OwnerTable> owners = std::make_shared<access::OwnerTable>();
  std::shared_ptr<const ChunkMap> map = std::make_shared<ChunkMap>();
  std::shared_ptr<const ChunkList> chunks = std::make_shared<ChunkList>();
  std::shared_ptr<const DeadRows> dead = std::make_shared<DeadRows>();
  /// int8 codes of all rows, coded as row - reference; none yet where there is no reference.
  std::shared_ptr<const std::vector<float>> reference;
  std::shared_ptr<const CodeChunkList> codes = std::make_shared<CodeChunkList>();
  bool prescan = false;  // searches may use the codes

  std::size_t live_rows() const noexcept { return rows - dead_rows; }
  Word dead_word(std::size_t i) const noexcept { return dead->word(i); }
  bool is_dead(std::size_t row) const noexcept { return ((dead_word(row / 64) >> (row % 64)) & 1) != 0; }

  bool can_prescan() const noexcept { return prescan && reference != nullptr; }
  Place place(std::size_t row) const noexcept { return map->place(row); }
  /// Whether a row has this number, removed or not.
  bool has(std::size_t row) const noexcept {
    if (row >= rows) return false;
    const Place place = this->place(row);
    return place.at < map->rows(place.chunk);
  }
  /// Number of the row that would be appended next: `rows`, or a later one where the last chunk has no room.
  std::size_t next_row() const noexcept {
    const std::size_t last = map->size() - 1;
    return map->size() == 0 || rows < map->begin(last) + map->rows(last) ? rows : map->end();
  }
  /// Rows of chunk `c` that this snapshot has.
  std::size_t rows_of_chunk(std::size_t c) const noexcept {
    return map->begin(c) < rows ? std::min(map->rows(c), rows - map->begin(c)) : 0;
  }
  std::size_t row_bytes() const noexcept { return codecs::facts(codec).component_bytes * dim; }

  /// Row `at` of chunk `c` as float32: where it is stored, or decoded into `scratch`, which holds dim.
  const float* vector(const kernels::Table& kernels, std::size_t c, std::size_t at, float* scratch) const noexcept;

  std::int64_t id(std::size_t row) const noexcept {
    const Place place = this->place(row);
    return (*chunks)[place.chunk]->ids[place.at];
  }

  std::uint32_t owner(std::size_t row) const noexcept {
    const Place place = this->place(row);
    return (*chunks)[place.chunk]->owners[place.at];
  }
  std::int64_t group(std::size_t row) const noexcept {
    const Place place = this->place(row);
    return (*chunks)[place.chunk]->groups[place.at];
  }

  /// Rows not removed.
  search::Bitmask live() const;

  /// Rows whose owner's rule is allowed now (`allowed[rule] != 0`), removed ones included.
  search::Bitmask grant(std::span<const std::uint8_t> allowed) const;

  /// Calls f(word index, bits) for each mask word that, after removed rows and rows this snapshot
  /// does not have are taken out, is not zero.
  template <class F>
  void for_each_permitted(const search::Bitmask& mask, std::size_t begin, std::size_t end, F&& f) const {
    mask.for_each_word(begin, std::min(end, words()), [&](std::size_t i, Word word) {
      if (dead_rows != 0) word &= ~dead_word(i);
      if (i + 1 == words() && rows % 64 != 0) word &= (Word{1} << (rows % 64)) - 1;
      if (word != 0) f(i, word);
    });
  }

  std::size_t words() const noexcept { return rows / 64 + (rows % 64 != 0); }

  /// Live rows the mask permits.
  std::size_t count_permitted(const search::Bitmask& mask) const;

  /// Their ids, in row order.
  std::vector<std::int64_t> permitted_ids(const search::Bitmask& mask) const;
};

}  // namespace evidex::index
