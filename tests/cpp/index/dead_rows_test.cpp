// SPDX-License-Identifier: Apache-2.0
// Seen red with a page that is marked, or cleared, without being copied first.
#include "index/dead_rows.hpp"

#include <set>
#include <vector>

#include "check.hpp"
#include "random.hpp"

namespace {

using namespace evidex;

void require(const index::DeadRows& dead, const std::set<std::size_t>& rows, std::size_t words) {
  for (std::size_t i = 0; i < words; ++i) {
    std::uint64_t expected = 0;
    for (std::size_t bit = 0; bit < 64; ++bit) expected |= std::uint64_t{rows.contains(i * 64 + bit)} << bit;
    CHECK_EQ(dead.word(i), expected);
  }
}

}  // namespace

TEST(copies_stay_as_they_were) {
  check::Random random(check::seed(), "dead rows");
  constexpr std::size_t kRows = 3 * 65536;
  std::vector<index::DeadRows> copies(1);
  copies.reserve(12);
  std::vector<std::set<std::size_t>> models(1);
  for (std::size_t step = 1; step < 10; ++step) {
    index::DeadRows next(copies.back());
    std::set<std::size_t> model = models.back();
    for (std::size_t i = random.below(40); i > 0; --i) {
      const std::size_t row = random.below(kRows);
      CHECK_EQ(next.mark(row), model.insert(row).second);
    }
    for (std::size_t i = random.below(20); i > 0; --i) {
      // One that was marked, or any: also on a page that nothing was ever marked on.
      const auto marked = model.lower_bound(random.below(kRows));
      const std::size_t row = random.one_in(3) || marked == model.end() ? random.below(2 * kRows) : *marked;
      CHECK_EQ(next.clear(row), model.erase(row) == 1);
    }
    copies.emplace_back(next);
    models.push_back(model);
  }
  for (std::size_t i = 0; i < copies.size(); ++i) require(copies[i], models[i], 2 * kRows / 64 + 2);
}
