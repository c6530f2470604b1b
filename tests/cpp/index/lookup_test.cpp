// SPDX-License-Identifier: Apache-2.0
// Approximate searches against brute force: whatever codes find is permitted, alive, scored exactly, in order and never
// fewer than min(k, permitted); with as many candidates as rows it is the exact answer.
//
// P1, P3, P4, P6, A3, A9, A18, B5, D1. Seen red with: bits of the mask ignored when estimates are selected, rows beyond
// the codes left out, estimates in the order of the scores, a candidate scored twice, codes of another layout used, the
// first worker's candidates alone.
#include "index/lookup_search.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

#include "check.hpp"
#include "index/lookup_pieces.hpp"
#include "index/world.hpp"

namespace {

using namespace evidex;
using check::Random;
using codecs::LookupKind;
using search::Bitmask;

index::LookupCodes coded(const index::Snapshot& snapshot, LookupKind kind, Stop& stop) {
  return index::LookupCodes(std::make_shared<const codecs::LookupModel>(index::train(snapshot, kind, 5, stop)),
                            snapshot.layout);
}

Bitmask some(std::size_t rows, std::size_t one_in, Random& random) {
  std::vector<std::int64_t> chosen;
  for (std::size_t r = 0; r < rows; ++r) {
    if (random.one_in(one_in)) chosen.push_back(static_cast<std::int64_t>(r));
  }
  return Bitmask::from_rows(rows, chosen);
}

check::Answer by_codes(const check::World& world, const index::LookupCodes& codes, std::size_t k,
                       std::size_t candidates, const Bitmask& allow, unsigned workers) {
  const index::Approximate how{codes.view(), candidates, true, {}};
  const Bitmask* const masks[] = {&allow};
  index::Query query{world.given.data(), world.given.size() / world.dim(), k, masks, {}, workers};
  query.approximate = &how;
  return check::search_on(*world.store.snapshot(), query);
}

void require_sound(const check::World& world, const check::Answer& answer, const Bitmask& allow, std::size_t k) {
  const std::size_t queries = world.given.size() / world.dim();
  for (std::size_t q = 0; q < queries; ++q) {
    const auto ranked = world.ranked(q, allow);
    std::map<std::int64_t, float> score_of;
    for (const auto& one : ranked) score_of[one.id] = one.score;
    CHECK_EQ(answer.only().returned, std::min(k, ranked.size()));
    for (std::size_t i = 0; i < answer.only().returned; ++i) {
      const std::size_t at = q * answer.width + i;
      CHECK(score_of.contains(answer.ids[at]));  // permitted, alive, not seen before
      CHECK_BITS(answer.scores[at], score_of[answer.ids[at]]);
      score_of.erase(answer.ids[at]);
      if (i > 0) {
        CHECK(answer.scores[at - 1] > answer.scores[at] ||
              (answer.scores[at - 1] == answer.scores[at] && answer.ids[at - 1] < answer.ids[at]));
      }
    }
  }
}

}  // namespace

TEST(a3_a9_a18_d1_whatever_is_found_is_permitted_and_never_too_little) {
  Random random(check::seed(), "lookup");
  Stop stop;
  std::size_t by_code = 0;
  for (std::size_t turn = 0; turn < check::times(18, 120); ++turn) {
    const kernels::Metric& metric = kernels::kMetrics[turn % 3];
    const auto codec = static_cast<codecs::Codec>(turn / 3 % 3);
    const std::size_t dim = 1 + random.below(70);
    check::World world(400 + random.below(1500), dim, metric, 6, random, {codec, true});
    const auto snapshot = world.store.snapshot();
    const LookupKind kind = random.one_in(2) ? LookupKind::binary : LookupKind::pq4;
    index::LookupCodes codes = coded(*snapshot, kind, stop);
    codes.extend(*snapshot, stop);
    CHECK_EQ(codes.view().words(), snapshot->rows / 64);
    for (const std::size_t one_in : {1U, 2U, 10U, 100U, 1000U}) {
      const Bitmask allow = some(snapshot->rows, one_in, random);
      const std::size_t k = 1 + random.below(20);
      const std::size_t candidates = k + random.below(60);
      const check::Answer answer = by_codes(world, codes, k, candidates, allow, 1);
      by_code += answer.only().lookup ? 1 : 0;
      require_sound(world, answer, allow, k);
      for (const unsigned workers : {2U, 3U}) {
        const check::Answer other = by_codes(world, codes, k, candidates, allow, workers);
        CHECK(other.ids == answer.ids);
        CHECK(other.scores == answer.scores);
      }
      // One short of all rows: also those without codes are needed.
      const std::size_t most = answer.only().permitted - 1;
      if (most > k) require_sound(world, by_codes(world, codes, most, most, allow, 1), allow, most);
    }
  }
  CHECK(by_code > 20);
}

TEST(most_of_the_best_are_found) {
  Random random(check::seed(), "lookup recall");
  Stop stop;
  for (const kernels::Metric& metric : kernels::kMetrics) {
    for (const LookupKind kind : {LookupKind::binary, LookupKind::pq4}) {
      const check::Note note(metric.name, ", ", codecs::kLookupKinds[static_cast<std::size_t>(kind)]);
      index::RowStore store(48, metric);
      store.add(check::random_rows(4000, 48, 9000, random).batch(), stop);
      const auto snapshot = store.snapshot();
      index::LookupCodes codes = coded(*snapshot, kind, stop);
      codes.extend(*snapshot, stop);
      const index::Approximate how{codes.view(), 400, true, {}};
      const Bitmask all = Bitmask::ones(snapshot->rows);
      const Bitmask* const masks[] = {&all};
      const std::vector<float> queries = check::random_rows(20, 48, 100, random).vectors;
      index::Query query{queries.data(), 20, 10, masks, {}, 1};
      const check::Answer exact = check::search_on(*snapshot, query);
      query.approximate = &how;
      const check::Answer found = check::search_on(*snapshot, query);
      CHECK(found.only().lookup);
      std::size_t same = 0;
      for (std::size_t i = 0; i < found.ids.size(); ++i) {
        const auto begin = exact.ids.begin() + static_cast<std::ptrdiff_t>(i / 10 * 10);
        same += std::find(begin, begin + 10, found.ids[i]) != begin + 10 ? 1 : 0;
      }
      CHECK(same >= 120);  // of 200; by chance 20
    }
  }
}

TEST(b5_endless_scores_are_scanned) {
  Random random(check::seed(), "lookup endless");
  Stop stop;
  index::RowStore store(32, kernels::kMetrics[2]);
  check::Rows rows = check::random_rows(640, 32, 2000, random);
  for (float& component : rows.vectors) component *= 0x1p59F;
  store.add(rows.batch(), stop);
  const auto snapshot = store.snapshot();
  for (const LookupKind kind : {LookupKind::binary, LookupKind::pq4}) {
    index::LookupCodes codes = coded(*snapshot, kind, stop);
    codes.extend(*snapshot, stop);
    const index::Approximate how{codes.view(), 50, true, {}};
    const Bitmask all = Bitmask::ones(snapshot->rows);
    const Bitmask* const masks[] = {&all};
    std::vector<float> queries = check::random_rows(4, 32, 100, random).vectors;
    for (float& component : queries) component *= 0x1p59F;
    index::Query query{queries.data(), 4, 10, masks, {}, 1};
    query.approximate = &how;
    const check::Answer found = check::search_on(*snapshot, query);
    for (const std::int64_t id : found.ids) CHECK(id >= 0);
  }
}

TEST(codes_follow_rows_and_end_with_their_layout) {
  Random random(check::seed(), "lookup follows");
  Stop stop;
  check::World world(700, 32, kernels::kMetrics[0], 3, random);
  const auto before = world.store.snapshot();
  index::LookupCodes codes = coded(*before, LookupKind::binary, stop);
  codes.extend(*before, stop);
  const index::LookupView old = codes.view();
  world.store.add_automatic(
      {{}, check::random_rows(300, 32, 1000, random).vectors.data(), std::vector<std::uint32_t>(300), {}}, stop);
  codes.extend(*world.store.snapshot(), stop);
  CHECK_EQ(codes.view().words(), world.store.snapshot()->rows / 64);
  CHECK_EQ(codes.fit().rows, codes.view().words() * 64);
  CHECK_EQ(old.words(), before->rows / 64);
  for (std::size_t word = 0; word < old.words(); ++word) {
    CHECK(std::equal(old.codes(word), old.codes(word) + 8 * 32, codes.view().codes(word)));
  }
  world.store.optimize(std::vector<std::uint32_t>(5), stop);
  const auto after = world.store.snapshot();
  codes.extend(*after, stop);
  CHECK_EQ(codes.view().words(), (before->rows + 300) / 64);  // nothing of the new layout
  const index::Approximate how{codes.view(), 50, true, {}};
  const Bitmask all = Bitmask::ones(after->rows);
  const Bitmask* const masks[] = {&all};
  index::Query query{world.given.data(), 3, 10, masks, {}, 1};
  query.approximate = &how;
  CHECK(!index::plan(*after, query).masks[0].lookup);
}

TEST(codes_that_were_kept_go_on_where_they_ended) {
  // Seen red with the first block that is not full left as it was, written where readers read, or counted twice.
  Random random(check::seed(), "lookup kept");
  Stop stop;
  for (const LookupKind kind : {LookupKind::binary, LookupKind::pq4}) {
    check::World world(900, 40, kernels::kMetrics[random.below(3)], 4, random);
    const auto snapshot = world.store.snapshot();
    index::LookupCodes made = coded(*snapshot, kind, stop);
    made.extend(*snapshot, stop);
    for (const std::size_t rows : {std::size_t{0}, std::size_t{1}, std::size_t{64}, 1 + random.below(700)}) {
      index::LookupCodes kept(made.model(), snapshot->layout, check::pieces_of_first(made.view(), rows, stop), rows,
                              {rows, 1, 1});
      const index::LookupView old = kept.view();
      CHECK_EQ(old.words(), (rows + 63) / 64);
      for (const std::size_t one_in : {1U, 3U}) {
        const Bitmask allow = some(snapshot->rows, one_in, random);
        require_sound(world, by_codes(world, kept, 7, 60, allow, 1), allow, 7);
        require_sound(world, by_codes(world, kept, 200, 200, allow, 2), allow, 200);
      }
      const index::LookupPieces before = *old.pieces;
      const std::vector<std::uint8_t> bytes =
          before.empty() ? std::vector<std::uint8_t>() : std::vector(before[0]->codes.begin(), before[0]->codes.end());
      kept.extend(*snapshot, stop);
      CHECK_EQ(kept.fit().rows, made.fit().rows);
      CHECK_EQ(kept.view().rows, made.view().rows);
      for (std::size_t word = 0; word < made.view().words(); ++word) {
        CHECK(std::equal(made.view().codes(word), made.view().codes(word) + made.model()->positions * 32,
                         kept.view().codes(word)));
        CHECK(std::equal(made.view().facts(word), made.view().facts(word) + 64, kept.view().facts(word)));
      }
      CHECK(before.empty() || std::equal(bytes.begin(), bytes.end(), before[0]->codes.begin()));
    }
  }
}

TEST(what_costs_less_is_chosen) {
  const index::SearchCosts costs{10, 20, 50, 100, 200, 5000};
  CHECK_EQ(costs.exact(6400, 100), 64000.0);
  CHECK_EQ(costs.exact(800, 100), 16000.0);
  CHECK_EQ(costs.exact(100, 100), 5000.0);
  CHECK_EQ(costs.exact(50, 100), 2500.0);
  CHECK_EQ(costs.exact(0, 0), 0.0);
  CHECK_EQ(costs.lookup(100, 10), 17000.0);
  Random random(check::seed(), "lookup choice");
  Stop stop;
  check::World world(2000, 32, kernels::kMetrics[0], 1, random);
  const auto snapshot = world.store.snapshot();
  index::LookupCodes codes = coded(*snapshot, LookupKind::binary, stop);
  codes.extend(*snapshot, stop);
  const Bitmask all = Bitmask::ones(snapshot->rows);
  const Bitmask few = some(snapshot->rows, 60, random);
  const Bitmask* const masks[] = {&all, &few};
  index::Query query{world.given.data(), 1, 5, masks, {}, 1};
  index::Approximate how{codes.view(), 12, false, costs};
  query.approximate = &how;
  CHECK(index::plan(*snapshot, query).masks[0].lookup);
  CHECK(!index::plan(*snapshot, query).masks[1].lookup);
  how.forced = true;
  CHECK(index::plan(*snapshot, query).masks[1].lookup);
  query.grouped = true;
  CHECK(!index::plan(*snapshot, query).masks[0].lookup);
  query.grouped = false;
  query.min_score = 0;
  CHECK(!index::plan(*snapshot, query).masks[0].lookup);
}

TEST(too_few_rows_or_too_many_dimensions_are_refused) {
  Random random(check::seed(), "lookup refused");
  Stop stop;
  index::RowStore few(8, kernels::kMetrics[0]);
  few.add(check::random_rows(255, 8, 1000, random).batch(), stop);
  CHECK_THROWS(index::train(*few.snapshot(), LookupKind::binary, 1, stop), InvalidInput, "add at least 256");
  index::RowStore wide(8449, kernels::kMetrics[0]);
  CHECK_THROWS(index::train(*wide.snapshot(), LookupKind::pq4, 1, stop), InvalidInput, "at most 8448");
}
