// SPDX-License-Identifier: Apache-2.0
#include "index/chunks.hpp"

#include <cstddef>
#include <memory>
#include <vector>

#include "check.hpp"
#include "index/chunk_map.hpp"
#include "random.hpp"

namespace {

using namespace evidex;
using index::ChunkMap;

/// Every row below `rows` of each chunk lies there, the chunks follow each other and hold whole mask words.
void check_map(const ChunkMap& map) {
  std::size_t end = 0;
  for (std::size_t c = 0; c < map.size(); ++c) {
    const check::Note note("chunk ", c);
    CHECK_EQ(map.begin(c), end);
    for (const std::size_t at : {std::size_t{0}, map.rows(c) / 2, map.rows(c) - 1}) {
      CHECK_EQ(map.place(end + at).chunk, c);
      CHECK_EQ(map.place(end + at).at, at);
    }
    end = (end + map.rows(c) + ChunkMap::kUnit - 1) / ChunkMap::kUnit * ChunkMap::kUnit;
  }
  CHECK_EQ(map.end(), end);
}

}  // namespace

TEST(chunks_of_a_growing_index_double_up_to_a_bound) {
  ChunkMap map;
  while (map.end() < 1000000) {
    const std::size_t rows = map.next_rows();
    CHECK_EQ(rows % ChunkMap::kUnit, 0U);
    CHECK(rows <= ChunkMap::kLargest && rows <= std::max(map.end(), ChunkMap::kUnit));
    map.add(rows);
  }
  CHECK_EQ(map.size(), 7U + (map.end() - ChunkMap::kLargest) / ChunkMap::kLargest);
  check_map(map);
}

TEST(chunks_of_any_sizes_begin_at_whole_units) {
  check::Random random(check::seed(), "sizes");
  for (int round = 0; round < 100; ++round) {
    ChunkMap map;
    for (std::size_t c = 0; c < 1 + random.below(30); ++c) {
      map.add(random.below(3) == 0 ? map.next_rows() : 1 + random.below(random.below(2) == 0 ? 3 : 200000));
    }
    check_map(map);
  }
}

TEST(a_chunk_holds_its_rows) {
  index::Chunk chunk(64, 3 * sizeof(float));
  CHECK_EQ(chunk.vectors.size(), 192U * sizeof(float));
  CHECK_EQ(chunk.ids.size(), 64U);
  CHECK_EQ(chunk.owners.size(), 64U);
  CHECK_EQ(chunk.groups.size(), 64U);
  const index::CodeChunk codes(64, 16);
  CHECK_EQ(codes.high.size(), 64U * 16U);
  CHECK_EQ(codes.low.size(), 64U * 16U);
  CHECK_EQ(codes.facts.size(), 64U);
  CHECK_EQ(codes.high_facts.size(), 64U);
}

TEST(a_chunk_over_memory_of_others_keeps_it_and_has_owners_of_its_own) {
  auto bytes = std::make_shared<std::vector<std::byte>>(5 * 12);
  auto ids = std::make_shared<std::vector<std::int64_t>>(std::vector<std::int64_t>{3, 1, 4, 1, 5});
  auto groups = std::make_shared<std::vector<std::int64_t>>(5);
  const std::weak_ptr<std::vector<std::int64_t>> alive = ids;
  const std::int64_t* const where = ids->data();
  auto a = std::make_unique<index::Chunk>(*bytes, *ids, *groups, std::vector<index::Keeper>{bytes, ids, groups});
  const index::Chunk b(a->vectors, a->ids, a->groups, {});
  ids = nullptr;
  CHECK(!alive.expired());
  CHECK(a->ids.data() == where && b.ids.data() == where);
  CHECK(a->ids.size() == 5U && a->ids[4] == 5 && a->vectors.data() == bytes->data());
  CHECK(a->owners.size() == 5U && b.owners.size() == 5U && a->owners.data() != b.owners.data());
  a = nullptr;
  CHECK(alive.expired());
}

TEST(codes_over_memory_of_others_have_the_facts_of_the_high_planes_first) {
  auto facts = std::make_shared<std::vector<kernels::RowFacts>>(6);
  auto high = std::make_shared<std::vector<std::uint8_t>>(3 * 16);
  auto low = std::make_shared<std::vector<std::uint8_t>>(3 * 16);
  const std::weak_ptr<std::vector<std::uint8_t>> alive = low;
  for (std::size_t i = 0; i < 6; ++i) (*facts)[i] = 100 + i;
  auto codes = std::make_unique<index::CodeChunk>(*facts, *high, *low, std::vector<index::Keeper>{facts, high, low});
  low = nullptr;
  CHECK(!alive.expired());
  CHECK(codes->high_facts.size() == 3U && codes->high_facts[2] == 102U);
  CHECK(codes->facts.size() == 3U && codes->facts[0] == 103U);
  CHECK(codes->high.data() == high->data() && codes->low.size() == 48U);
  codes = nullptr;
  CHECK(alive.expired());
}
