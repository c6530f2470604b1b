// SPDX-License-Identifier: Apache-2.0
// The id table against std::unordered_map as a long random state machine.
//
// Seen red with `>=` in erase() turned into `>` (a run is cut from its home), and with the size not
// counted down.
#include "index/id_table.hpp"

#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "check.hpp"
#include "random.hpp"

namespace {

using namespace evidex;
using index::IdTable;
using Model = std::unordered_map<std::int64_t, std::int64_t>;

enum class Ids { few, multiples_of_two_to_the_32, anywhere, corners };
constexpr Ids kIds[] = {Ids::few, Ids::multiples_of_two_to_the_32, Ids::anywhere, Ids::corners};

std::int64_t draw(Ids ids, check::Random& random) {
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  switch (ids) {
    case Ids::few:
      return random.between(0, 300);
    case Ids::multiples_of_two_to_the_32:
      return random.between(0, 600) << 32;
    case Ids::anywhere:
      return static_cast<std::int64_t>(random.next() >> 1);
    case Ids::corners:
      break;
  }
  const std::int64_t bases[] = {0, 1, kLast, kLast - 1, std::int64_t{1} << 32, std::int64_t{1} << 62};
  return bases[random.below(6)] ^ random.between(0, 7);
}

void check_same(const IdTable& table, const Model& model, Ids ids, check::Random& random) {
  CHECK_EQ(table.size(), model.size());
  for (const auto& [id, row] : model) CHECK_EQ(table.find(id), row);
  for (int i = 0; i < 50; ++i) {
    const std::int64_t id = draw(ids, random);
    const auto found = model.find(id);
    CHECK_EQ(table.find(id), found == model.end() ? IdTable::kAbsent : found->second);
  }
}

/// `erasing` of ten steps erase, the others assign.
void run(Ids ids, std::size_t erasing, std::size_t steps, check::Random& random) {
  IdTable table;
  Model model;
  std::vector<std::int64_t> known;
  for (std::size_t i = 0; i < steps; ++i) {
    const bool erase = random.below(10) < erasing;
    const bool stored = !known.empty() && random.one_in(2);
    const std::int64_t id = stored ? known[random.below(known.size())] : draw(ids, random);
    if (erase) {
      table.erase(id);
      model.erase(id);
    } else {
      const auto row = static_cast<std::int64_t>(i);
      table.reserve(table.size() + 1);
      table.assign(id, row);
      model[id] = row;
      known.push_back(id);
    }
    if (known.size() > 400) known.erase(known.begin(), known.begin() + 200);
    if (random.one_in(40)) check_same(table, model, ids, random);
  }
  check_same(table, model, ids, random);
  for (const auto& [id, row] : Model(model)) {
    table.erase(id);
    model.erase(id);
    CHECK_EQ(table.find(id), IdTable::kAbsent);
  }
  check_same(table, model, ids, random);
}

}  // namespace

TEST(an_empty_table) {
  IdTable table;
  CHECK_EQ(table.size(), 0U);
  CHECK_EQ(table.find(0), IdTable::kAbsent);
  table.erase(0);
  table.reserve(0);
  CHECK_EQ(table.find(std::numeric_limits<std::int64_t>::max()), IdTable::kAbsent);
  table.erase(5);
  CHECK_EQ(table.size(), 0U);
}

TEST(the_same_as_a_map_over_a_long_life) {
  check::Random random(check::seed(), "life");
  for (const Ids ids : kIds) {
    for (const std::size_t erasing : {0U, 2U, 5U, 8U}) {
      const check::Note note("ids ", static_cast<int>(ids), ", erasing ", erasing, " in 10");
      run(ids, erasing, check::times(4000, 200000), random);
    }
  }
}

TEST(one_reservation_is_enough_for_a_batch) {
  check::Random random(check::seed(), "batch");
  for (const std::size_t n : {1U, 11U, 12U, 13U, 24U, 25U, 1000U, 12289U}) {
    IdTable table;
    table.reserve(n);
    for (std::size_t i = 0; i < n; ++i) table.assign(static_cast<std::int64_t>(i) << 32, static_cast<std::int64_t>(i));
    table.reserve(n / 2);  // never shrinks
    CHECK_EQ(table.size(), n);
    for (std::size_t i = 0; i < n; ++i) CHECK_EQ(table.find(static_cast<std::int64_t>(i) << 32), i);
    CHECK_EQ(table.find(1), IdTable::kAbsent);
  }
}

TEST(assigning_again_moves_the_id) {
  IdTable table;
  table.reserve(3);
  for (const std::int64_t row : {7, 0, 9}) {
    table.assign(42, row);
    CHECK_EQ(table.find(42), row);
    CHECK_EQ(table.size(), 1U);
  }
}

TEST(filled_and_emptied_again_and_again) {
  // Nothing degrades: no tombstones, and erasing in any order leaves every other id reachable.
  check::Random random(check::seed(), "again");
  IdTable table;
  for (std::size_t round = check::times(40, 1000); round > 0; --round) {
    std::vector<std::int64_t> ids;
    table.reserve(1500);
    for (std::int64_t i = 0; i < 1500; ++i) {
      const std::int64_t id = (i << 20) + static_cast<std::int64_t>(round);
      ids.push_back(id);
      table.assign(id, i);
    }
    random.shuffle(ids);
    while (!ids.empty()) {
      table.erase(ids.back());
      ids.pop_back();
      if (!ids.empty()) CHECK(table.find(ids[random.below(ids.size())]) != IdTable::kAbsent);
    }
    CHECK_EQ(table.size(), 0U);
  }
}
