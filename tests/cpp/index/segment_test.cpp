// SPDX-License-Identifier: Apache-2.0
// Rows apart from any store: encoded as a store would keep them, or gathered from a snapshot as they are.
//
// P9, P7. Seen red with ids gathered from the place after the row's, and with facts of the high planes not copied.
#include "index/segment.hpp"

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

namespace {

using namespace evidex;
using check::Random;
using check::Rows;
using codecs::Codec;
using index::RowStore;
using index::Segment;
using index::Snapshot;
using kernels::kMetrics;

constexpr Codec kCodecs[] = {Codec::float32, Codec::float16, Codec::int8};
constexpr std::size_t kDim = 37;

template <class T>
bool same(std::span<const T> a, std::size_t at, std::span<const T> b, std::size_t place, std::size_t width) {
  return std::equal(a.begin() + static_cast<std::ptrdiff_t>(at * width),
                    a.begin() + static_cast<std::ptrdiff_t>((at + 1) * width),
                    b.begin() + static_cast<std::ptrdiff_t>(place * width),
                    b.begin() + static_cast<std::ptrdiff_t>((place + 1) * width));
}

/// Row `at` of the segment is row `row` of the snapshot, to the bit.
void check_row(const Segment& segment, std::size_t at, const Snapshot& from, std::size_t row) {
  const check::Note note("row ", at, " of ", segment.rows, ", ", row, " of the snapshot");
  const auto [c, place] = from.place(row);
  const index::Chunk& chunk = *(*from.chunks)[c];
  CHECK_EQ(segment.chunk->ids[at], chunk.ids[place]);
  CHECK_EQ(segment.chunk->groups[at], chunk.groups[place]);
  CHECK(same<std::byte>(segment.chunk->vectors, at, chunk.vectors, place, from.row_bytes()));
  if (!segment.codes) return;
  const index::CodeChunk& codes = *(*from.codes)[c];
  const std::size_t bytes = codecs::plane_bytes(from.dim);
  CHECK_EQ(segment.codes->high_facts[at], codes.high_facts[place]);
  CHECK_EQ(segment.codes->facts[at], codes.facts[place]);
  CHECK(same<std::uint8_t>(segment.codes->high, at, codes.high, place, bytes));
  CHECK(same<std::uint8_t>(segment.codes->low, at, codes.low, place, bytes));
}

std::vector<std::int64_t> live_numbers(const Snapshot& snapshot) {
  std::vector<std::int64_t> rows;
  for (std::size_t row = 0; row < snapshot.rows; ++row) {
    if (!snapshot.is_dead(row)) rows.push_back(static_cast<std::int64_t>(row));
  }
  return rows;
}

}  // namespace

TEST(rows_are_encoded_as_a_store_keeps_them) {
  Random random(check::seed(), "encoded");
  for (const kernels::Metric& metric : kMetrics) {
    for (const Codec codec : kCodecs) {
      for (const std::size_t n : {1U, 255U, 257U, 2500U}) {
        const check::Note note(metric.name, ", ", codecs::facts(codec).name, ", ", n, " rows");
        RowStore store(kDim, metric, {codec, true});
        const auto empty = store.snapshot();
        const Rows rows = check::grouped_rows(n, kDim, 0, random);
        const Segment segment = check::encoded(*empty, rows);
        Stop stop;
        store.add(rows.batch(), stop);
        const auto snapshot = store.snapshot();
        CHECK_EQ(segment.rows, n);
        CHECK_EQ(segment.dim, kDim);
        CHECK(segment.codec == codec);
        // As many rows get a reference of their own as in a store, and it is the same.
        CHECK_EQ(segment.codes != nullptr, codec == Codec::int8 || n >= index::least_coded_rows(kDim));
        CHECK_EQ(segment.codes != nullptr, segment.reference != nullptr);
        CHECK_EQ(segment.codes != nullptr, snapshot->reference != nullptr);
        if (segment.reference) CHECK(*segment.reference == *snapshot->reference);
        for (std::size_t row = 0; row < n; ++row) check_row(segment, row, *snapshot, row);
      }
    }
  }
}

TEST(rows_are_encoded_against_the_reference_of_the_snapshot) {
  Random random(check::seed(), "against");
  RowStore store(kDim, kMetrics[0]);
  Stop stop;
  store.add(check::grouped_rows(2100, kDim, 0, random).batch(), stop);
  const auto before = store.snapshot();
  const Rows rows = check::grouped_rows(60, kDim, 1000000, random);
  const Segment segment = check::encoded(*before, rows);
  CHECK(segment.reference == before->reference);
  store.add(rows.batch(), stop);
  for (std::size_t i = 0; i < 60; ++i) check_row(segment, i, *store.snapshot(), 2100 + i);
}

TEST(rows_that_no_store_would_take_are_refused) {
  Random random(check::seed(), "refused");
  const auto refused = [&](const kernels::Metric& metric, Codec codec, float value, const char* part) {
    const RowStore store(kDim, metric, {codec, true});
    Rows rows = check::grouped_rows(700, kDim, 0, random);
    std::fill_n(rows.vectors.begin() + 611 * kDim, kDim, value);
    CHECK_THROWS(check::encoded(*store.snapshot(), rows), InvalidInput, part);
  };
  refused(kMetrics[0], Codec::float32, std::nanf(""), "vectors: row 611 holds nan at position 0");
  refused(kMetrics[0], Codec::float16, 65520.0F, "row 611 holds 65520 at position 0, which overflows float16");
  refused(kMetrics[0], Codec::int8, 1e20F, "row 611 has squared norm");
  for (const kernels::Metric& metric : kMetrics) {
    if (metric.unit_rows) refused(metric, Codec::float32, 0, "row 611 is all zeros");
  }
}

TEST(gathered_rows_are_those_of_the_snapshot) {
  Random random(check::seed(), "gathered");
  std::size_t coded = 0;
  for (const Codec codec : kCodecs) {
    for (const bool prescan : {true, false}) {
      const kernels::Metric& metric = kMetrics[random.below(kMetrics.size())];
      check::Twins source(kDim, metric, {codec, prescan});
      source.add(check::grouped_rows(600, kDim, 1000000, random));
      for (std::int64_t i = 2; i < 5; ++i) {
        source.attach(check::grouped_rows(check::segment_size(random), kDim, i * 1000000, random), {codec, prescan});
      }
      source.attach(check::grouped_rows(2100, kDim, 9000000, random), {codec, prescan});
      source.attached.mark(std::vector<index::Range>{{100, 300}}, true);
      const auto from = source.attached.snapshot();
      std::vector<std::int64_t> rows = live_numbers(*from);
      random.shuffle(rows);
      rows.resize(2200);
      Stop stop;
      const Segment segment = index::gather(*from, rows, stop);
      CHECK_EQ(segment.rows, rows.size());
      CHECK(segment.reference == from->reference);
      CHECK_EQ(segment.codes != nullptr, codec == Codec::int8 || prescan);
      for (std::size_t i = 0; i < rows.size(); ++i) check_row(segment, i, *from, static_cast<std::size_t>(rows[i]));

      // Searched, they are what the same rows are in the source.
      RowStore other(kDim, metric, {codec, prescan});
      std::vector<std::uint32_t> rules;
      for (std::size_t i = 0; i < rows.size(); ++i)
        rules.push_back(static_cast<std::uint32_t>(segment.chunk->groups[i] % 5));
      (void)other.attach(segment, rules, stop);
      std::vector<std::int64_t> left_out;
      const search::Bitmask kept = search::Bitmask::from_rows(from->rows, rows);
      for (const std::int64_t row : live_numbers(*from)) {
        if (!kept.test(static_cast<std::size_t>(row))) left_out.push_back(from->id(static_cast<std::size_t>(row)));
      }
      source.attached.remove(left_out);
      // In the order of the source, so that what they permit can be compared.
      std::sort(rows.begin(), rows.end());
      RowStore sorted(kDim, metric, {codec, prescan});
      const Segment in_order = index::gather(*from, rows, stop);
      for (std::size_t i = 0; i < rows.size(); ++i)
        rules[i] = static_cast<std::uint32_t>(in_order.chunk->groups[i] % 5);
      (void)sorted.attach(in_order, rules, stop);
      coded += check::require_alike(*sorted.snapshot(), *source.attached.snapshot(), 8, random);
      const search::Bitmask everything = search::Bitmask::ones(other.snapshot()->rows);
      const search::Bitmask* const masks[] = {&everything};
      for (int i = 0; i < 5; ++i) {
        const std::vector<float> query = check::random_rows(1, kDim, 1, random).vectors;
        const index::Query asked{query.data(), 1, 30, masks, {}, 2};
        const auto a = check::outcome(*other.snapshot(), asked).hits[0];
        const auto b = check::outcome(*sorted.snapshot(), asked).hits[0];
        CHECK_EQ(a.size(), b.size());
        for (std::size_t h = 0; h < a.size(); ++h) {
          CHECK_EQ(a[h].id, b[h].id);
          CHECK_BITS(a[h].score, b[h].score);
        }
      }
    }
  }
  CHECK(coded > 0);
}

TEST(a_stop_ends_encoding_and_gathering) {
  Random random(check::seed(), "stop");
  RowStore store(kDim, kMetrics[0]);
  Stop goes_on;
  const Rows rows = check::grouped_rows(3000, kDim, 0, random);
  store.add(rows.batch(), goes_on);
  Stop stop([] { return true; });
  std::this_thread::sleep_for(std::chrono::milliseconds(25));
  CHECK_THROWS(index::encode(*store.snapshot(), rows.ids, rows.groups, rows.vectors.data(), stop), Cancelled, "");
  CHECK_THROWS(index::gather(*store.snapshot(), live_numbers(*store.snapshot()), stop), Cancelled, "");
}
