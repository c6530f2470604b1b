// SPDX-License-Identifier: Apache-2.0
#include "index/chunks.hpp"

#include <cstddef>

#include "check.hpp"
#include "random.hpp"

namespace {

using namespace evidex;
using index::ChunkOf;

void check_row(std::size_t row) {
  const std::size_t c = ChunkOf::of(row);
  if (ChunkOf::begin(c) <= row && row < ChunkOf::begin(c + 1) && row - ChunkOf::begin(c) < ChunkOf::rows(c)) return;
  const check::Note note("row ", row);
  CHECK_EQ(c, ~std::size_t{0});
}

}  // namespace

TEST(every_row_lies_in_its_chunk) {
  for (std::size_t row = 0; row <= 300000; ++row) check_row(row);
}

TEST(far_rows_lie_in_their_chunks) {
  check::Random random(check::seed(), "far");
  for (std::size_t i = 0; i < 100000; ++i) check_row(random.next() >> (20 + random.below(40)));
  for (unsigned shift = 10; shift < 44; ++shift) {
    for (const std::size_t near : {0U, 1U, 2U}) check_row((std::size_t{1} << shift) + near - 1);
  }
}

TEST(chunks_follow_each_other_double_and_hold_whole_mask_words) {
  CHECK_EQ(ChunkOf::begin(0), 0U);
  CHECK_EQ(ChunkOf::rows(0), ChunkOf::kFirst);
  for (std::size_t c = 0; c < 300; ++c) {
    const check::Note note("chunk ", c);
    CHECK_EQ(ChunkOf::begin(c + 1), ChunkOf::begin(c) + ChunkOf::rows(c));
    CHECK_EQ(ChunkOf::begin(c) % 64, 0U);
    CHECK_EQ(ChunkOf::of(ChunkOf::begin(c)), c);
    CHECK_EQ(ChunkOf::of(ChunkOf::begin(c + 1) - 1), c);
    CHECK(ChunkOf::rows(c) <= ChunkOf::kLargest);
    CHECK(ChunkOf::rows(c + 1) >= ChunkOf::rows(c));
  }
  CHECK_EQ(ChunkOf::begin(ChunkOf::kDoubling), ChunkOf::kLargest);
  CHECK_EQ(ChunkOf::rows(ChunkOf::kDoubling), ChunkOf::kLargest);
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
}
