// SPDX-License-Identifier: Apache-2.0
// The best rows by estimate against a sorted list: estimates of either sign, ties, merges, thresholds.
//
// P4. Seen red with: negative estimates ordered by their bits, ties to the row that lies last, a threshold that is too
// high.
#include "search/candidates.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "check.hpp"
#include "random.hpp"

namespace {

using namespace evidex;
using search::Candidates;

struct Row {
  float estimate;
  std::uint32_t row;
};

/// The slow way.
std::vector<std::uint32_t> best(std::vector<Row> rows, std::size_t k) {
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return a.estimate != b.estimate ? a.estimate > b.estimate : a.row < b.row;
  });
  std::vector<std::uint32_t> found;
  for (std::size_t i = 0; i < std::min(k, rows.size()); ++i) found.push_back(rows[i].row);
  return found;
}

}  // namespace

TEST(random_estimates_in_any_order_and_any_number_of_parts) {
  check::Random random(check::seed(), "candidates");
  for (std::size_t turn = check::times(400, 5000); turn > 0; --turn) {
    const std::size_t k = 1 + random.below(random.one_in(3) ? 400 : 12);
    std::vector<Row> rows;
    const bool few = random.one_in(2);
    for (std::size_t i = random.below(1500); i > 0; --i) {
      const float estimate = few ? random.whole(3) : random.finite();
      rows.push_back({estimate == 0 ? 0.0F : estimate, static_cast<std::uint32_t>(i * 1000003)});
    }
    const std::vector<std::uint32_t> expected = best(rows, k);
    random.shuffle(rows);
    std::vector<Candidates> parts(1 + random.below(3), Candidates(k));
    for (const Row& row : rows) {
      Candidates& part = parts[random.below(parts.size())];
      if (row.estimate >= part.threshold()) part.push(row.estimate, row.row);
    }
    for (std::size_t p = 1; p < parts.size(); ++p) parts[0].merge(parts[p]);
    CHECK_EQ(parts[0].size(), expected.size());
    CHECK(parts[0].sorted() == expected);
    std::vector<std::uint32_t> in_sequence = expected;
    std::sort(in_sequence.begin(), in_sequence.end());
    CHECK(parts[0].in_sequence() == in_sequence);
  }
}

TEST(a_threshold_is_the_kth_estimate_once_there_are_enough) {
  for (const float sign : {1.0F, -1.0F}) {
    Candidates candidates(3);
    CHECK_EQ(candidates.threshold(), -std::numeric_limits<float>::infinity());
    for (std::uint32_t row = 0; row < 100; ++row) candidates.push(sign * static_cast<float>(row % 10 + 1), row);
    (void)candidates.sorted();
    CHECK_EQ(candidates.threshold(), sign > 0 ? 10.0F : -1.0F);
    candidates.push(candidates.threshold(), 99);  // as good, but later
    CHECK(candidates.sorted() ==
          (sign > 0 ? std::vector<std::uint32_t>{9, 19, 29} : std::vector<std::uint32_t>{0, 10, 20}));
  }
}
