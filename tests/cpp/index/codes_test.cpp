// SPDX-License-Identifier: Apache-2.0
// The life of the codes beside the rows: when they start, what they are coded from, and that every row has its own
// whatever is written afterwards.
//
// P7, P9. Seen red with: the last row not coded when codes start, rows coded without the reference at the start or
// later, one that is not frozen, float16 rows coded before rounding.
#include <cmath>
#include <vector>

#include "base/error.hpp"
#include "check.hpp"
#include "codecs/error_bound.hpp"
#include "index/code_writer.hpp"
#include "index/model.hpp"
#include "kernels/dispatch.hpp"
#include "random.hpp"

namespace {

using namespace evidex;
using check::Model;
using check::Random;
using check::Rows;
using codecs::Codec;
using index::RowStore;
using index::Snapshot;
using kernels::kMetrics;

constexpr std::size_t kDim = 37;

/// Planes and facts of each row are those of a row coded alone.
void check_codes(const Snapshot& snapshot, const Model& model) {
  CHECK(snapshot.reference != nullptr);
  const std::size_t dim = snapshot.dim;
  const std::size_t bytes = codecs::plane_bytes(dim);
  std::vector<std::uint8_t> planes(2 * bytes);
  codecs::Int8Encoder encoder(kernels::active(), dim, snapshot.reference->data());
  for (std::size_t r = 0; r < snapshot.rows; ++r) {
    const check::Note note("row ", r);
    const auto [c, at] = snapshot.place(r);
    const index::CodeChunk& chunk = *(*snapshot.codes)[c];
    const std::vector<float>& row = model.layout()[r].vector;
    const std::uint8_t* high = chunk.high.data() + at * bytes;
    const std::uint8_t* low = chunk.low.data() + at * bytes;
    // Code-only rows are what their code decodes to, so the model has the original no more.
    if (snapshot.codec != Codec::int8) {
      const codecs::CodeFacts facts = encoder.encode(row.data(), planes.data(), planes.data() + bytes);
      CHECK(std::equal(planes.begin(), planes.begin() + static_cast<std::ptrdiff_t>(bytes), high));
      CHECK(std::equal(planes.begin() + static_cast<std::ptrdiff_t>(bytes), planes.end(), low));
      CHECK_EQ(chunk.high_facts[at], codecs::pack(facts.scale, facts.high_norm, facts.high_residual));
      CHECK_EQ(chunk.facts[at], codecs::pack(facts.scale, facts.norm, facts.residual));
    }
    for (std::size_t i = 0; i < dim; ++i) {
      const int code = 16 * reference::nibble(high, bytes, i) + reference::nibble(low, bytes, i) - 128;
      const float rest = row[i] - (*snapshot.reference)[i] - chunk.scale(at) * static_cast<float>(code);
      CHECK(std::fabs(rest) <= chunk.scale(at) * 0.5001F + 0x1p-100F);
    }
  }
}

void check_mean(const Snapshot& snapshot, const Model& model) {
  for (std::size_t i = 0; i < snapshot.dim; ++i) {
    double sum = 0;
    for (const check::ModelRow& row : model.layout()) sum += static_cast<double>(row.vector[i]);
    const double mean = sum / static_cast<double>(model.layout().size());
    CHECK(std::fabs((*snapshot.reference)[i] - mean) <= 1e-6);
  }
}

}  // namespace

TEST(codes_start_with_the_row_that_makes_them_worth_it) {
  Random random(check::seed(), "start");
  for (const kernels::Metric& metric : kMetrics) {
    for (const Codec codec : {Codec::float32, Codec::float16}) {
      const check::Note note(metric.name, ", ", codecs::facts(codec).name);
      RowStore store(kDim, metric, {codec, true});
      Model model(kDim, metric, codec);
      Stop stop;
      const auto put = [&](std::size_t n) {
        const Rows rows = check::random_rows(n, kDim, 1000000, random);
        store.upsert(rows.batch(), stop);
        model.put(rows);
        return store.snapshot();
      };
      put(index::least_coded_rows(kDim) - 5);
      for (int i = 0; i < 4; ++i) CHECK(!put(1)->can_prescan());
      const auto before = store.snapshot();
      const auto started = put(1);
      CHECK(started->can_prescan());
      check_mean(*started, model);
      check_codes(*started, model);
      CHECK(!before->can_prescan());  // a pinned snapshot stays as it was
      CHECK(before->reference == nullptr);

      for (const std::size_t n : {1U, 1U, 300U, 2000U}) CHECK(put(n)->reference == started->reference);
      store.remove(std::vector<std::int64_t>{model.layout().back().id});
      CHECK(put(77)->reference == started->reference);
      check_codes(*store.snapshot(), model);
      check_codes(*started, model);
    }
  }
}

TEST(longer_rows_have_codes_sooner) {
  Random random(check::seed(), "sooner");
  for (const std::size_t dim : {384U, 400U, 768U, 2000U}) {
    const std::size_t least = index::least_coded_rows(dim);
    CHECK(least >= 512 && least <= 2048);
    CHECK_EQ(least == 2048, dim == 384);
    RowStore store(dim, kMetrics[0]);
    Stop stop;
    store.add(check::random_rows(least - 1, dim, 1000000, random).batch(), stop);
    CHECK(!store.snapshot()->can_prescan());
    store.upsert(check::random_rows(1, dim, 1000000, random).batch(), stop);
    CHECK(store.snapshot()->can_prescan());
  }
}

TEST(a_batch_that_crosses_the_start_is_coded_whole) {
  Random random(check::seed(), "batch");
  for (const std::size_t first : {0U, 1U, 2000U}) {
    RowStore store(kDim, kMetrics[2]);
    Model model(kDim, kMetrics[2]);
    Stop stop;
    for (const std::size_t n : {first, std::size_t{3000}}) {
      const Rows rows = check::random_rows(n, kDim, 1000000, random);
      store.upsert(rows.batch(), stop);
      model.put(rows);
    }
    check_mean(*store.snapshot(), model);
    check_codes(*store.snapshot(), model);
  }
}

TEST(a_code_that_is_all_there_is_of_a_row_depends_on_it_alone) {
  Random random(check::seed(), "code only");
  for (const std::size_t dim : {std::size_t{3}, kDim}) {
    RowStore store(dim, kMetrics[0], {Codec::int8, true});
    Model model(dim, kMetrics[0], Codec::int8);
    Stop stop;
    for (const std::size_t n : {1U, 50U, 2100U}) {
      const Rows rows = check::random_rows(n, dim, 1000000, random);
      store.upsert(rows.batch(), stop);
      model.put(rows);
      const auto snapshot = store.snapshot();
      CHECK(*snapshot->reference == std::vector<float>(dim));
      CHECK_EQ(snapshot->can_prescan(), dim >= index::kLeastCodedDim);
      check_codes(*snapshot, model);
      check::check_snapshot(*snapshot, model.layout());
    }
    CHECK_EQ(store.snapshot()->row_bytes(), 0U);
  }
}

TEST(no_codes_where_they_are_not_wanted_or_rows_too_short) {
  Random random(check::seed(), "none");
  const auto snapshot_of = [&](std::size_t dim, index::Storage storage) {
    RowStore store(dim, kMetrics[0], storage);
    Stop stop;
    store.add(check::random_rows(2500, dim, 1000000, random).batch(), stop);
    return store.snapshot();
  };
  for (const Codec codec : {Codec::float32, Codec::float16}) {
    CHECK(!snapshot_of(index::kLeastCodedDim - 1, {codec, true})->can_prescan());
    CHECK(snapshot_of(index::kLeastCodedDim, {codec, true})->can_prescan());
    const auto without = snapshot_of(index::kLeastCodedDim, {codec, false});
    CHECK(!without->can_prescan());
    CHECK(without->reference == nullptr && without->codes->empty());
  }
  CHECK(!snapshot_of(kDim, {Codec::int8, false})->can_prescan());
}

TEST(rows_too_long_for_codes) {
  constexpr std::size_t kMost = codecs::kMostCodedDim;
  CHECK_THROWS(RowStore(kMost + 1, kMetrics[0], {Codec::int8, true}), InvalidInput,
               "dim: codec int8 holds at most 131072 components per row, got 131073");
  CHECK(RowStore(kMost, kMetrics[0], {Codec::int8, true}).snapshot()->prescan);
  CHECK(!RowStore(kMost + 1, kMetrics[0], {Codec::float16, true}).snapshot()->prescan);
}

TEST(a_row_too_large_for_float16_is_refused_and_changes_nothing) {
  Random random(check::seed(), "overflow");
  RowStore store(kDim, kMetrics[0], {Codec::float16, true});
  Model model(kDim, kMetrics[0], Codec::float16);
  Stop stop;
  Rows rows = check::random_rows(700, kDim, 5000, random);
  store.add(rows.batch(), stop);
  model.put(rows);
  const auto before = store.snapshot();
  Rows more = check::random_rows(700, kDim, 5000, random);
  more.vectors[611 * kDim + 5] = -65520.0F;
  CHECK_THROWS(store.upsert(more.batch(), stop), InvalidInput,
               "vectors: row 611 holds -65520 at position 5, which overflows float16");
  CHECK(store.snapshot() == before);
  check::check_snapshot(*store.snapshot(), model.layout());
  more.vectors[611 * kDim + 5] = -65519.0F;  // rounds to the largest half
  store.upsert(more.batch(), stop);
  model.put(more);
  check::check_snapshot(*store.snapshot(), model.layout());
}
