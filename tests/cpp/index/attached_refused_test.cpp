// SPDX-License-Identifier: Apache-2.0
// Segments that a store refuses, which leave it as it was, and how long it keeps one that it took.
//
// P9. Seen red with the ids or the groups not looked at, the codec or the number of rules not compared, and a chunk
// that does not keep the memory it is over.
#include <limits>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "check.hpp"
#include "index/attaching.hpp"

namespace {

using namespace evidex;
using check::Random;
using check::Rows;
using codecs::Codec;
using index::RowStore;
using index::Segment;
using kernels::kMetrics;

constexpr std::size_t kDim = 33;
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

struct Filled {
  explicit Filled(Random& random) : store(kDim, kMetrics[0]), rows(check::grouped_rows(700, kDim, 0, random)) {
    (void)check::attach(store, check::encoded(*store.snapshot(), rows), rows);
    before = store.snapshot();
    rights = before->owners->generation();
    owners = before->owners->size();
  }
  void check_unchanged(const Rows& refused) const {
    CHECK(store.snapshot() == before);
    CHECK_EQ(before->owners->generation(), rights);
    CHECK_EQ(before->owners->size(), owners);
    CHECK_EQ(before->live_rows(), 700U);
    for (const std::int64_t row : store.rows_in(*before, refused.ids)) CHECK_EQ(row, index::IdTable::kAbsent);
  }

  RowStore store;
  Rows rows;
  std::shared_ptr<const index::Snapshot> before;
  std::uint64_t rights;
  std::size_t owners;
};

}  // namespace

TEST(what_does_not_fit_a_store_is_refused) {
  Random random(check::seed(), "fit");
  const Filled filled(random);
  RowStore& store = const_cast<RowStore&>(filled.store);
  Stop stop;
  const Rows rows = check::grouped_rows(300, kDim, 5000, random);
  const char* part = "segment: its dim, codec or number of rows is not that of the store or of the rules given";
  for (const Codec codec : {Codec::float16, Codec::int8}) {
    CHECK_THROWS(check::attach(store, check::encoded(kMetrics[0], kDim, {codec, true}, rows), rows), InvalidInput,
                 part);
    filled.check_unchanged(rows);
  }
  for (const std::size_t dim : {kDim - 1, kDim + 1}) {
    const Rows other = check::grouped_rows(300, dim, 5000, random);
    CHECK_THROWS(check::attach(store, check::encoded(kMetrics[0], dim, {}, other), other), InvalidInput, part);
    filled.check_unchanged(rows);
  }
  const Segment segment = check::encoded(*filled.before, rows);
  for (const std::size_t n : {0U, 299U, 301U}) {
    CHECK_THROWS(store.attach(segment, std::vector<std::uint32_t>(n), stop), InvalidInput, part);
    filled.check_unchanged(rows);
  }
}

TEST(negative_ids_and_groups_are_refused) {
  Random random(check::seed(), "negative");
  const Filled filled(random);
  RowStore& store = const_cast<RowStore&>(filled.store);
  const Rows rows = check::grouped_rows(1500, kDim, 5000, random);
  for (const std::int64_t number : {std::int64_t{-1}, kLeast}) {
    for (const std::size_t at : {0U, 700U, 1499U}) {
      for (const bool group : {false, true}) {
        const Segment segment = check::encoded(*filled.before, rows);
        (group ? segment.chunk->groups : segment.chunk->ids)[at] = number;
        CHECK_THROWS(check::attach(store, segment, rows), InvalidInput, "segment: it holds a negative id or group");
        filled.check_unchanged(rows);
      }
    }
  }
  CHECK_EQ(check::attach(store, check::encoded(*filled.before, rows), rows), 1024U);
}

TEST(one_group_under_two_rules_is_refused) {
  Random random(check::seed(), "two rules");
  const Filled filled(random);
  RowStore& store = const_cast<RowStore&>(filled.store);
  Rows rows = check::grouped_rows(300, kDim, 5000, random);
  rows.groups[299] = rows.groups[0];
  rows.rules[299] = rows.rules[0] + 1;
  CHECK_THROWS(check::attach(store, check::encoded(*filled.before, rows), rows), InvalidInput, "another rule than");
  filled.check_unchanged(rows);
}

TEST(a_segment_lives_as_long_as_a_snapshot_that_has_it) {
  Random random(check::seed(), "kept");
  RowStore store(kDim, kMetrics[0]);
  Rows rows = check::grouped_rows(2100, kDim, 0, random);
  std::weak_ptr<index::Chunk> chunk;
  std::weak_ptr<index::CodeChunk> codes;
  {
    const Segment segment = check::encoded(*store.snapshot(), rows);
    chunk = segment.chunk;
    codes = segment.codes;
    (void)check::attach(store, segment, rows);
  }
  auto pinned = store.snapshot();
  Stop stop;
  store.optimize(std::vector<std::uint32_t>{0, 1, 2, 3, 4}, stop);  // copies the rows
  CHECK(!chunk.expired() && !codes.expired());
  CHECK_EQ(pinned->id(2099), rows.ids[2099]);
  pinned = nullptr;
  CHECK(chunk.expired() && codes.expired());
}
