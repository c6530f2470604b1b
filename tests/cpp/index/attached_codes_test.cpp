// SPDX-License-Identifier: Apache-2.0
// Codes of attached rows: taken where they were made against the store's reference, made anew where not, and of every
// row that has none yet.
//
// P7, P9. Seen red with codes taken only where the reference is the same object, with earlier rows left without, and
// with owners published before the codes are made.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "check.hpp"
#include "index/attaching.hpp"
#include "index/code_writer.hpp"
#include "kernels/dispatch.hpp"

namespace {

using namespace evidex;
using check::Random;
using check::Rows;
using check::Twins;
using codecs::Codec;
using index::RowStore;
using index::Segment;
using index::Snapshot;
using index::Storage;
using kernels::kMetrics;
using Reference = std::shared_ptr<const std::vector<float>>;

constexpr std::size_t kDim = 37;

Reference random_reference(Random& random) {
  std::vector<float> values(kDim);
  for (float& value : values) value = random.real();
  return std::make_shared<const std::vector<float>>(std::move(values));
}

/// Every live row has the code of its vector against the snapshot's reference.
void check_codes(const Snapshot& snapshot) {
  CHECK(snapshot.can_prescan());
  CHECK_EQ(snapshot.codes->size(), snapshot.chunks->size());
  const std::size_t bytes = codecs::plane_bytes(snapshot.dim);
  codecs::Int8Encoder encoder(kernels::active(), snapshot.dim, snapshot.reference->data());
  std::vector<std::uint8_t> planes(2 * bytes);
  for (std::size_t row = 0; row < snapshot.rows; ++row) {
    if (snapshot.is_dead(row)) continue;
    const check::Note note("row ", row);
    const std::vector<float> vector = check::vector_of(snapshot, row);
    const codecs::CodeFacts facts = encoder.encode(vector.data(), planes.data(), planes.data() + bytes);
    const auto [c, at] = snapshot.place(row);
    const index::CodeChunk& codes = *(*snapshot.codes)[c];
    CHECK(std::equal(planes.begin(), planes.begin() + static_cast<std::ptrdiff_t>(bytes),
                     codes.high.data() + at * bytes));
    CHECK(std::equal(planes.begin() + static_cast<std::ptrdiff_t>(bytes), planes.end(), codes.low.data() + at * bytes));
    CHECK_EQ(codes.high_facts[at], codecs::pack(facts.scale, facts.high_norm, facts.high_residual));
    CHECK_EQ(codes.facts[at], codecs::pack(facts.scale, facts.norm, facts.residual));
  }
}

std::int64_t fresh_ids() {
  static std::int64_t used = 0;
  return ++used * 1000000;
}

Rows rows_of(std::size_t n, Random& random) { return check::grouped_rows(n, kDim, fresh_ids(), random); }

}  // namespace

TEST(a_store_takes_the_reference_it_is_given) {
  Random random(check::seed(), "given");
  const Reference reference = random_reference(random);
  for (const Codec codec : {Codec::float32, Codec::float16}) {
    const Storage storage{codec, true, reference};
    RowStore store(kDim, kMetrics[0], storage);
    Stop stop;
    CHECK(store.snapshot()->reference == reference);
    store.add(rows_of(5, random).batch(), stop);
    const Rows rows = rows_of(50, random);
    const Segment segment = check::encoded(*store.snapshot(), rows);
    CHECK(segment.reference == reference);
    (void)check::attach(store, segment, rows);
    CHECK(store.snapshot()->codes->back() == segment.codes);
    check_codes(*store.snapshot());
  }
  // Not where there are to be no codes, and none but zeros where a code is all there is.
  CHECK(RowStore(kDim, kMetrics[0], {Codec::float32, false, reference}).snapshot()->reference == nullptr);
  CHECK(RowStore(8, kMetrics[0], {Codec::float32, true, reference}).snapshot()->reference == nullptr);
  CHECK(*RowStore(kDim, kMetrics[0], {Codec::int8, true, reference}).snapshot()->reference == std::vector<float>(kDim));
}

TEST(codes_against_an_equal_reference_are_taken_as_they_are) {
  Random random(check::seed(), "equal");
  const Reference reference = random_reference(random);
  const Reference copy = std::make_shared<const std::vector<float>>(*reference);
  Twins twins(kDim, kMetrics[1], {Codec::float16, true, reference});
  const Rows rows = rows_of(3000, random);
  const Segment segment = check::encoded(kMetrics[1], kDim, {Codec::float16, true, copy}, rows);
  (void)check::attach(twins.attached, segment, rows);
  const auto snapshot = twins.attached.snapshot();
  CHECK(snapshot->reference == reference);
  CHECK((*snapshot->codes)[0] == segment.codes);
  check_codes(*snapshot);
}

// Seen red with attach_codes taking every segment's codes.
TEST(codes_against_another_reference_are_made_anew) {
  Random random(check::seed(), "other");
  for (const Codec codec : {Codec::float32, Codec::float16}) {
    for (const kernels::Metric& metric : kMetrics) {
      Twins twins(kDim, metric, {codec, true, random_reference(random)});
      const Reference kept = twins.attached.snapshot()->reference;
      for (const std::size_t n : {1000U, 2500U, 1U})
        twins.attach(rows_of(n, random), {codec, true, random_reference(random)});
      CHECK(twins.attached.snapshot()->reference == kept);
      check_codes(*twins.attached.snapshot());
      CHECK(twins.compare(6, random) > 0);
    }
  }
}

TEST(rows_without_codes_get_them_where_a_store_has_a_reference) {
  Random random(check::seed(), "without");
  Twins twins(kDim, kMetrics[0], {Codec::float32, true});
  twins.attach(rows_of(2500, random), {});  // its own mean is the reference from here on
  const Reference kept = twins.attached.snapshot()->reference;
  CHECK(kept != nullptr);
  for (const std::size_t n : {3000U, 70U}) twins.attach(rows_of(n, random), {Codec::float32, false});
  twins.add(rows_of(40, random));
  CHECK(twins.attached.snapshot()->reference == kept);
  check_codes(*twins.attached.snapshot());
  CHECK(twins.compare(10, random) > 0);
}

TEST(rows_that_were_there_get_codes_when_a_segment_brings_the_reference) {
  Random random(check::seed(), "brings");
  Twins twins(kDim, kMetrics[0], {Codec::float32, true});
  twins.add(rows_of(70, random));
  twins.attach(rows_of(700, random), {Codec::float32, false});
  const auto before = twins.attached.snapshot();
  CHECK(!before->can_prescan());
  const Rows rows = rows_of(2048, random);
  const Segment segment = check::encoded(kMetrics[0], kDim, {}, rows);
  (void)check::attach(twins.attached, segment, rows);
  Stop stop;
  twins.plain.add(rows.batch(), stop);
  CHECK(twins.attached.snapshot()->reference == segment.reference);
  CHECK(twins.attached.snapshot()->codes->back() == segment.codes);
  CHECK(!before->can_prescan() && before->codes->empty());
  check_codes(*twins.attached.snapshot());
  CHECK(twins.compare(10, random) > 0);
}

// Seen red with rows counted that the first chunk has room for but never got: the mean was of memory nobody wrote.
TEST(codes_start_when_there_are_rows_enough_and_their_mean_is_of_stored_rows) {
  Random random(check::seed(), "start");
  Twins twins(kDim, kMetrics[0], {Codec::float32, true});
  {
    index::Chunk used(1024, kDim * sizeof(float));  // memory that the store's first chunk may well get
    std::fill(used.vectors.begin(), used.vectors.end(), std::byte{0x47});
  }
  twins.add(rows_of(70, random));
  std::size_t rows = 70;
  while (rows + 300 < index::least_coded_rows(kDim)) {
    twins.attach(rows_of(300, random), {});
    rows += 300;
    CHECK(!twins.attached.snapshot()->can_prescan());
  }
  twins.attach(rows_of(index::least_coded_rows(kDim) - rows - 1, random), {});
  CHECK(!twins.attached.snapshot()->can_prescan());
  twins.attach(rows_of(1, random), {});
  const auto snapshot = twins.attached.snapshot();
  check_codes(*snapshot);
  for (std::size_t i = 0; i < kDim; ++i) {
    double sum = 0;
    for (std::size_t row = 0; row < snapshot->rows; ++row) {
      if (!snapshot->is_dead(row)) sum += static_cast<double>(check::vector_of(*snapshot, row)[i]);
    }
    CHECK(std::fabs((*snapshot->reference)[i] - sum / static_cast<double>(snapshot->live_rows())) <= 1e-6);
  }
  CHECK(twins.compare(10, random) > 0);
}

// Seen red, with the address sanitizer, with blocks that reach as far as the rows of the snapshot.
TEST(a_block_at_the_end_of_a_segment_reads_no_further) {
  Random random(check::seed(), "end");
  RowStore store(kDim, kMetrics[0]);
  const Rows rows = rows_of(2540, random);  // 44 in the last word
  Segment segment = check::encoded(*store.snapshot(), rows);
  // Each part by itself, as files are mapped.
  std::vector<kernels::RowFacts> facts(segment.codes->high_facts.begin(), segment.codes->high_facts.end());
  facts.insert(facts.end(), segment.codes->facts.begin(), segment.codes->facts.end());
  std::vector<std::uint8_t> high(segment.codes->high.begin(), segment.codes->high.end());
  std::vector<std::uint8_t> low(segment.codes->low.begin(), segment.codes->low.end());
  segment.codes = std::make_shared<index::CodeChunk>(facts, high, low, std::vector<index::Keeper>{});
  (void)check::attach(store, segment, rows);
  const Rows more = rows_of(70, random);
  (void)check::attach(store, check::encoded(*store.snapshot(), more), more);
  RowStore plain(kDim, kMetrics[0]);
  Stop stop;
  plain.add(rows.batch(), stop);
  plain.add(more.batch(), stop);
  CHECK(check::require_alike(*store.snapshot(), *plain.snapshot(), 12, random) > 0);
}

TEST(no_codes_where_a_store_wants_none) {
  Random random(check::seed(), "unwanted");
  Twins twins(kDim, kMetrics[0], {Codec::float32, false});
  twins.attach(rows_of(3000, random), {Codec::float32, true});
  CHECK(twins.attached.snapshot()->reference == nullptr);
  CHECK(twins.attached.snapshot()->codes->empty());
  CHECK_EQ(twins.compare(5, random), 0U);
}

TEST(int8_rows_without_codes_or_against_a_reference_are_refused) {
  Random random(check::seed(), "int8");
  RowStore store(kDim, kMetrics[0], {Codec::int8, true});
  const Rows rows = rows_of(300, random);
  (void)check::attach(store, check::encoded(*store.snapshot(), rows), rows);
  const auto before = store.snapshot();
  const Rows more = rows_of(300, random);
  Segment segment = check::encoded(*store.snapshot(), more);
  segment.reference = random_reference(random);
  CHECK_THROWS(check::attach(store, segment, more), InvalidInput, "int8");
  segment.codes = nullptr;
  segment.reference = nullptr;
  CHECK_THROWS(check::attach(store, segment, more), InvalidInput, "codec int8 keeps codes against no reference");
  CHECK(store.snapshot() == before);
  CHECK(store.find(more.ids).rows == std::vector<std::int64_t>(300, index::IdTable::kAbsent));
}

TEST(a_stop_while_codes_are_made_changes_nothing) {
  Random random(check::seed(), "stop");
  RowStore store(kDim, kMetrics[0], {Codec::float32, true, random_reference(random)});
  const Rows rows = rows_of(3000, random);
  const Segment segment = check::encoded(kMetrics[0], kDim, {Codec::float32, false}, rows);
  const auto before = store.snapshot();
  Stop stop([] { return true; });
  std::this_thread::sleep_for(std::chrono::milliseconds(25));
  CHECK_THROWS(store.attach(segment, rows.rules, stop), Cancelled, "");
  CHECK(store.snapshot() == before);
  CHECK(store.find(rows.ids).rows == std::vector<std::int64_t>(3000, index::IdTable::kAbsent));
  CHECK_EQ(before->owners->size(), 0U);
  CHECK_EQ(check::attach(store, segment, rows), 0U);
  check_codes(*store.snapshot());
}
