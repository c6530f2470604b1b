// SPDX-License-Identifier: Apache-2.0
// Searches by terms against scoring every row, to the bit: masks, removed rows, parts, threads, windows, ties.
//
// P1, P3, P4, P6, P7. Seen red with: the mask not looked at where no list is optional, a threshold that is rounded up,
// a removed row counted in df, an optional list that is passed before its row, optional lists not added to candidates,
// sums left in the scratch of a window, as many bits as there are rows taken for all rows, windows that begin a word
// after the first permitted row, or are cut a word before the last, and rows of the snapshot taken for those of a part.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "check.hpp"
#include "index/row_store.hpp"
#include "index/sparse_scan.hpp"
#include "index/sparse_search.hpp"
#include "postings/making.hpp"
#include "random.hpp"

namespace {

using namespace evidex;
using check::Random;
using index::SparseCounts;
using index::SparseView;
using search::Bitmask;
using search::Hit;

using Row = std::map<std::string, std::uint32_t>;

struct World {
  std::vector<Row> rows;
  std::vector<bool> dead;
  std::shared_ptr<const index::Snapshot> snapshot;
  std::vector<index::SparsePart> parts;
};

std::string term(std::size_t number) { return "t" + std::to_string(number); }

/// Rows whose terms are of all kinds of rarity: term 0 is in most rows, the last ones in hardly any.
World random_world(Random& random, std::size_t rows) {
  World world;
  index::RowStore store(1, kernels::kMetrics[0], {codecs::Codec::float32, false});
  Stop stop;
  const std::size_t terms = 12;
  for (std::size_t r = 0; r < rows; ++r) {
    Row row;
    for (std::size_t t = 0; t < terms; ++t) {
      if (random.one_in(t < 3 ? 2 : std::size_t{1} << t)) {
        row[term(t)] = static_cast<std::uint32_t>(random.one_in(3) ? 1 + random.below(20) : 4);
      }
    }
    world.rows.push_back(std::move(row));
  }
  std::vector<std::int64_t> ids;
  for (std::size_t r = 0; r < rows; ++r) ids.push_back(static_cast<std::int64_t>(r));
  random.shuffle(ids);  // ties are by id, not by row
  const std::vector<float> vectors(rows);
  const std::vector<std::uint32_t> rules(rows, access::kNoRule);
  store.add({ids, vectors.data(), rules, {}}, stop);
  world.dead.resize(rows);
  if (random.one_in(2)) {
    std::vector<std::int64_t> gone;
    for (std::size_t r = 0; r < rows; ++r) {
      if (!random.one_in(5)) continue;
      gone.push_back(ids[r]);
      world.dead[r] = true;
    }
    store.remove(gone);
  }
  world.snapshot = store.snapshot();
  for (std::size_t begin = 0; begin < rows;) {
    const std::size_t end = random.one_in(2) ? rows : std::min(rows, begin + 1 + random.below(rows));
    std::vector<std::int64_t> starts{0};
    std::vector<std::int32_t> numbers;
    std::vector<std::uint32_t> values;
    std::vector<std::string> names;
    for (std::size_t t = 0; t < terms; ++t) names.push_back(term(t));
    for (std::size_t r = begin; r < end; ++r) {
      for (const auto& [name, value] : world.rows[r]) {
        numbers.push_back(static_cast<std::int32_t>(std::find(names.begin(), names.end(), name) - names.begin()));
        values.push_back(value);
      }
      starts.push_back(static_cast<std::int64_t>(numbers.size()));
    }
    const std::vector<std::string_view> views(names.begin(), names.end());
    world.parts.push_back({postings::of_terms(views, {starts, numbers, values}, stop), begin});
    begin = end;
  }
  return world;
}

Bitmask random_mask(Random& random, std::size_t rows) {
  std::vector<std::int64_t> numbers;
  const std::size_t kind = random.below(4);
  const std::size_t first = random.below(rows);
  for (std::size_t r = 0; r < rows; ++r) {
    const bool in = kind == 0 || (kind == 1 ? random.one_in(10) : (kind == 2 ? r >= first : !random.one_in(10)));
    if (in) numbers.push_back(static_cast<std::int64_t>(r));
  }
  return Bitmask::from_rows(rows, numbers);
}

/// The slow way: every row that the mask has, every term, in no clever order.
std::vector<Hit> brute_force(const World& world, const Bitmask& scope, const Bitmask& mask, const Row& query,
                             const index::SparseRanking& ranking, std::size_t k) {
  std::size_t count = 0;
  std::uint64_t length = 0;
  std::map<std::string, std::size_t> df;
  const auto there = [&](std::size_t r, const Bitmask& of) { return !world.dead[r] && of.test(r); };
  for (std::size_t r = 0; r < world.rows.size(); ++r) {
    if (!there(r, scope)) continue;
    ++count;
    for (const auto& [name, value] : world.rows[r]) {
      length += value;
      ++df[name];
    }
  }
  const auto idf = [&](const std::string& name) { return index::inverse_frequency(count, df[name]); };
  double sum = 0;
  double squares = 0;
  for (const auto& [name, quarters] : query) {
    if (df[name] == 0) continue;
    const double weight = static_cast<double>(quarters) / 4 * idf(name);
    sum += weight;
    squares += weight * weight;
  }
  const index::Bm25 bm25(ranking.k1, ranking.b, count, length);
  const index::Quantum quantum(sum);
  std::vector<Hit> hits;
  for (std::size_t r = 0; r < world.rows.size(); ++r) {
    if (!there(r, mask)) continue;
    std::uint32_t its_length = 0;
    double norm = 0;
    for (const auto& [name, value] : world.rows[r]) {
      its_length += value;
      if (df[name] == 0) continue;
      const double weight = index::times(value) * idf(name);
      norm += weight * weight;
    }
    double score = 0;
    bool matches = false;
    for (const auto& [name, quarters] : query) {
      const auto found = world.rows[r].find(name);
      if (found == world.rows[r].end() || df[name] == 0) continue;
      matches = true;
      const double weight = static_cast<double>(quarters) / 4 * idf(name);
      score += ranking.ranking == index::Ranking::bm25 ? quantum.rounded(weight * bm25.share(found->second, its_length))
                                                       : weight * (index::times(found->second) * idf(name));
    }
    if (!matches) continue;
    if (ranking.ranking == index::Ranking::tfidf) score /= std::sqrt(squares) * std::sqrt(norm);
    hits.push_back(
        {static_cast<float>(score), world.snapshot->id(r), world.snapshot->group(r), static_cast<std::uint32_t>(r)});
  }
  std::sort(hits.begin(), hits.end(), search::Better());
  hits.resize(std::min(hits.size(), k));
  return hits;
}

struct Query {
  std::vector<std::string> names;
  std::vector<std::string_view> terms;
  std::vector<double> weights;
  std::vector<std::size_t> starts{0};
};

Query flat(const std::vector<Row>& queries) {
  Query flat;
  for (const Row& query : queries) {
    for (auto it = query.rbegin(); it != query.rend(); ++it) {  // any order is welcome
      flat.names.push_back(it->first);
      flat.weights.push_back(it->second);
    }
    flat.starts.push_back(flat.names.size());
  }
  flat.terms.assign(flat.names.begin(), flat.names.end());
  return flat;
}

Row random_query(Random& random) {
  Row query;
  for (std::size_t i = random.below(9); i > 0; --i) {
    query[term(random.below(15))] = static_cast<std::uint32_t>(1 + random.below(12));
  }
  return query;
}

void check_world(Random& random, std::size_t rows) {
  const World world = random_world(random, rows);
  const SparseView view(world.snapshot, world.parts);
  const Bitmask all = Bitmask::ones(rows);
  std::unique_ptr<const SparseCounts> before;
  for (std::size_t turn = 6; turn > 0; --turn) {
    const Bitmask granted = random_mask(random, rows);
    const Bitmask& scope = random.one_in(2) ? all : granted;
    const Bitmask mask = granted & random_mask(random, rows);
    auto counts = std::make_unique<const SparseCounts>(view, scope, before.get());
    const std::vector<Row> queries{random_query(random), random_query(random), random_query(random)};
    const Query given = flat(queries);
    const index::SparseRanking ranking{random.one_in(3) ? index::Ranking::tfidf : index::Ranking::bm25,
                                       random.one_in(4) ? 0.0 : 1.2, random.one_in(4) ? 1.0 : 0.75};
    const std::size_t k = random.one_in(3) ? 200 : 1 + random.below(12);
    const Bitmask* const masks[] = {&mask};
    const index::SparseQuery query{
        given.terms, given.weights, given.starts, k, masks, {}, 1 + static_cast<unsigned>(random.below(4))};
    index::Plan plan = index::plan(view, query);
    plan.workers = query.threads;
    std::vector<std::vector<Hit>> found(queries.size());
    Stop stop;
    index::search(
        view, counts.get(), ranking, query, plan, [&](std::size_t q, const auto& hits) { found[q] = hits; }, stop);
    for (std::size_t q = 0; q < queries.size(); ++q) {
      const std::vector<Hit> expected = brute_force(world, scope, mask, queries[q], ranking, k);
      const check::Note note(rows, " rows, ", world.parts.size(), " parts, query ", q, ", ranking ",
                             static_cast<int>(ranking.ranking), ", threads ", query.threads);
      CHECK_EQ(found[q].size(), expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i) {
        CHECK_EQ(found[q][i].id, expected[i].id);
        CHECK_EQ(found[q][i].row, expected[i].row);
        CHECK_BITS(found[q][i].score, expected[i].score);
      }
    }
    before = std::move(counts);
  }
}

}  // namespace

TEST(small_worlds) {
  Random random(check::seed(), "small");
  for (std::size_t turn = check::times(150, 3000); turn > 0; --turn) check_world(random, 1 + random.below(300));
}

TEST(worlds_of_several_windows) {
  Random random(check::seed(), "large");
  for (std::size_t turn = check::times(6, 100); turn > 0; --turn) check_world(random, 4000 + random.below(30000));
}

TEST(counts_of_unchanged_parts_are_taken_over_and_equal) {
  Random random(check::seed(), "counts");
  for (std::size_t turn = check::times(30, 500); turn > 0; --turn) {
    const std::size_t rows = 1 + random.below(2000);
    const World world = random_world(random, rows);
    const SparseView view(world.snapshot, world.parts);
    const Bitmask mask = random_mask(random, rows);
    const SparseCounts first(view, mask, nullptr);
    std::vector<postings::TermPlace> places(view.parts.size());
    view.find(term(1), places.data());
    (void)first.df(places);
    const SparseCounts again(view, mask, &first);
    const Bitmask other = random_mask(random, rows);
    const SparseCounts others(view, other, &first);
    for (const auto& [counts, of] : {std::pair(&first, &mask), std::pair(&again, &mask), std::pair(&others, &other)}) {
      std::size_t count = 0;
      std::size_t with = 0;
      std::uint64_t length = 0;
      for (std::size_t r = 0; r < rows; ++r) {
        if (world.dead[r] || !of->test(r)) continue;
        ++count;
        with += world.rows[r].contains(term(1)) ? 1 : 0;
        for (const auto& [name, value] : world.rows[r]) length += value;
      }
      CHECK_EQ(counts->rows(), count);
      CHECK_EQ(counts->length(), length);
      CHECK_EQ(counts->df(places), with);
    }
  }
}

TEST(a_mask_of_more_rows_than_there_are_permits_no_others) {
  Random random(check::seed(), "longer mask");
  for (std::size_t turn = check::times(20, 300); turn > 0; --turn) {
    const std::size_t rows = index::kSparseWindow + random.below(2000);
    const World world = random_world(random, rows);
    const SparseView view(world.snapshot, world.parts);
    const SparseCounts counts(view, Bitmask::ones(rows), nullptr);
    std::vector<std::int64_t> numbers;  // as many as there are rows, the first of them not
    for (std::size_t r = 100; r < rows + 100; ++r) numbers.push_back(static_cast<std::int64_t>(r));
    const Bitmask mask = Bitmask::from_rows(rows + 100, numbers);
    const Bitmask* const masks[] = {&mask};
    const Query given = flat({{{term(0), 4}}});
    const index::SparseQuery query{given.terms, given.weights, given.starts, rows, masks, {}, 1};
    std::vector<Hit> found;
    Stop stop;
    index::search(
        view, &counts, {}, query, index::plan(view, query), [&](std::size_t, const auto& hits) { found = hits; }, stop);
    CHECK(!found.empty());
    for (const Hit& hit : found) CHECK(hit.row >= 100 && !world.dead[hit.row]);
  }
}
