// SPDX-License-Identifier: Apache-2.0
// Rows rounded to a longer form than length 1 lie below -1 opposite to a query, and so does the bound of their codes.
// Their score is -1 all the same, and among equal scores ids decide: no row may be left out.
//
// P7, P4. Seen red with the test against the metric's least score left out of usable_threshold.
#include <cmath>
#include <vector>

#include "check.hpp"
#include "index/coded_world.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/tables.hpp"

namespace {

using namespace evidex;

constexpr std::size_t kCosine = kernels::definitions::Cosine::id;

/// A length at which the half nearest to 1 / sqrt(dim) is well above it.
std::size_t dim_that_rounds_up() {
  for (std::size_t dim = 64;; ++dim) {
    const float exact = 1.0F / std::sqrt(static_cast<float>(dim));
    if (reference::half_value(reference::nearest_half(exact)) > exact * (1.0F + 0x1p-12F)) return dim;
  }
}

}  // namespace

TEST(rows_opposite_to_the_query_by_more_than_a_cosine_can_say) {
  const std::size_t dim = dim_that_rounds_up();
  constexpr std::size_t kRows = 2500;
  index::RowStore store(dim, kernels::kMetrics[kCosine], {codecs::Codec::float16, true});
  check::Rows rows;
  rows.vectors.assign(kRows * dim, -1.0F);
  rows.rules.assign(kRows, 0);
  for (std::size_t i = 0; i < kRows; ++i) rows.ids.push_back(static_cast<std::int64_t>(i * 1237 % 99991));
  Stop stop;
  store.add(rows.batch(), stop);
  std::vector<std::int64_t> ids = rows.ids;
  std::sort(ids.begin(), ids.end());

  const std::vector<float> query(dim, 1.0F);
  const auto all = search::Bitmask::ones(kRows);
  const search::Bitmask* const masks[] = {&all};
  for (const kernels::Table* table : check::runnable_tables()) {
    kernels::force(table->isa);
    const std::vector<float> prepared = reference::unit<reference::LibraryFma>(query);
    const std::vector<float> row = check::vector_of(*store.snapshot(), 0);
    float product = 0;
    table->metrics[0].scan(prepared.data(), row.data(), dim, 1, dim, &product);
    CHECK(product < -1.0F - 0x1p-14F);
    for (const float least : {index::kNoScore, -1.0F}) {
      const check::Note note(table->isa, ", least ", least);
      const check::Answer answer = check::search_on(*store.snapshot(), {query.data(), 1, 20, masks, {}, 2, least});
      CHECK(answer.only().prescan);
      for (std::size_t i = 0; i < 20; ++i) {
        CHECK_EQ(answer.ids[i], ids[i]);
        CHECK_BITS(answer.scores[i], -1.0F);
      }
    }
  }
}
