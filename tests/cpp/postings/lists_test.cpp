// SPDX-License-Identifier: Apache-2.0
// Lists of terms: what was written is read, bounds hold, and bytes that anybody changed never give a row that is not
// there.
//
// P10. Seen red with: values taken for wholes that are not, the last block's bounds of the one before, no look at the
// last row of a block or at the rows behind the blocks, and a least length that is told one too large.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "check.hpp"
#include "postings/list_reader.hpp"
#include "postings/list_writer.hpp"
#include "random.hpp"

namespace {

using namespace evidex;
using check::Random;
using postings::Bounds;
using postings::kBlock;
using postings::ListReader;
using postings::Numbers;

struct List {
  std::vector<std::uint32_t> rows;
  std::vector<std::uint32_t> values;
  std::vector<std::uint32_t> lengths;  // of all rows of the segment
};

List random_list(Random& random) {
  List list;
  const std::size_t rows = 1 + random.below(random.one_in(4) ? 200000 : 2000);
  const std::size_t every = 1 + random.below(random.one_in(2) ? 3 : 300);
  const std::uint32_t step = std::uint32_t{1} << random.below(3);  // all values are multiples of it
  for (std::size_t row = 0; row < rows; ++row) {
    list.lengths.push_back(static_cast<std::uint32_t>(random.below(random.one_in(9) ? 200000 : 90)));
    if (!random.one_in(every) && row != rows / 2) continue;
    list.rows.push_back(static_cast<std::uint32_t>(row));
    const std::size_t value = 1 + random.below(random.one_in(50) ? 100000 : 9);
    list.values.push_back(static_cast<std::uint32_t>(value) * step);
  }
  return list;
}

std::vector<std::byte> written(const List& list, bool weighted) {
  std::vector<std::byte> bytes;
  postings::append_list(bytes, list.rows, list.values, list.lengths, weighted);
  return bytes;
}

}  // namespace

TEST(lists_come_back_and_bounds_hold) {
  Random random(check::seed(), "lists");
  for (std::size_t turn = check::times(60, 2000); turn > 0; --turn) {
    const List list = random_list(random);
    const bool weighted = random.one_in(3);
    const check::Note note(list.rows.size(), " of ", list.lengths.size(), " rows, weighted ", weighted);
    const std::vector<std::byte> bytes = written(list, weighted);
    const ListReader reader(bytes, list.lengths.size(), weighted);
    CHECK_EQ(reader.size(), list.rows.size());
    CHECK_EQ(reader.blocks(), (list.rows.size() + kBlock - 1) / kBlock);
    std::size_t at = 0;
    for (std::size_t b = 0; b < reader.blocks(); ++b) {
      Numbers rows{};
      Numbers values{};
      reader.rows(b, rows);
      reader.values(b, values);
      const Bounds of_block = reader.bounds(b);
      for (std::size_t i = 0; i < reader.size_of(b); ++i, ++at) {
        CHECK_EQ(rows[i], list.rows[at]);
        CHECK_EQ(values[i], list.values[at]);
        CHECK(rows[i] <= reader.last_row(b));
        if (weighted) continue;
        for (const Bounds& bounds : {of_block, reader.bounds()}) {
          CHECK(values[i] <= bounds.most);
          CHECK(list.lengths[rows[i]] >= bounds.least_length);
        }
      }
    }
    CHECK_EQ(at, list.rows.size());
  }
}

TEST(changed_and_cut_bytes_are_refused_or_give_rows_that_are_there) {
  Random random(check::seed(), "damaged lists");
  for (std::size_t turn = check::times(3000, 100000); turn > 0; --turn) {
    const List list = random_list(random);
    const bool weighted = random.one_in(3);
    std::vector<std::byte> bytes = written(list, weighted);
    for (std::size_t times = 1 + random.below(3); times > 0; --times) {
      const std::size_t at = random.below(random.one_in(2) ? std::min<std::size_t>(bytes.size(), 60) : bytes.size());
      bytes[at] = static_cast<std::byte>(random.next());
    }
    if (random.one_in(3)) bytes.resize(random.below(bytes.size() + 1));
    bytes.shrink_to_fit();
    try {
      const ListReader reader(bytes, list.lengths.size(), weighted);
      std::int64_t before = -1;
      for (std::size_t b = 0; b < reader.blocks(); ++b) {
        Numbers rows{};
        Numbers values{};
        reader.rows(b, rows);
        reader.values(b, values);
        for (std::size_t i = 0; i < reader.size_of(b); ++i) {
          CHECK(rows[i] > before && rows[i] < list.lengths.size());
          CHECK(weighted || values[i] >= 1);
          before = rows[i];
        }
      }
    } catch (const CorruptFile&) {
      continue;  // as good
    }
  }
}
