// SPDX-License-Identifier: Apache-2.0
// Postings against a table of rows and terms: built, gathered from others, and from bytes that somebody changed.
//
// P10, P8. Seen red with: a repeated term that is stored twice, a gathered row under its old number, terms in the order
// in which they came, lengths of one byte where the longest has 256 quarters, terms of a damaged file that need not
// ascend.
#include "postings/postings.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "check.hpp"
#include "postings/making.hpp"
#include "random.hpp"

namespace {

using namespace evidex;
using check::Random;
using postings::Numbers;
using postings::Postings;
using postings::TermPlace;
using postings::TermWalk;

using Row = std::map<std::string, std::uint32_t>;

/// All that postings say.
std::vector<Row> read(const Postings& postings) {
  std::vector<Row> rows(postings.rows());
  std::size_t entries = 0;
  std::size_t terms = 0;
  for (TermWalk walk(postings.dictionary()); walk.next(); ++terms) {
    const std::string term(walk.term());
    const TermPlace place = postings.dictionary().find(term);
    CHECK(place.found());
    CHECK_EQ(place.number, terms);
    CHECK_EQ(place.begin, walk.place().begin);
    CHECK_EQ(place.bytes, walk.place().bytes);
    const postings::ListReader list = postings.list(place);
    for (std::size_t b = 0; b < list.blocks(); ++b) {
      Numbers numbers{};
      Numbers values{};
      list.rows(b, numbers);
      list.values(b, values);
      for (std::size_t i = 0; i < list.size_of(b); ++i, ++entries) rows[numbers[i]][term] = values[i];
    }
  }
  CHECK_EQ(terms, postings.terms());
  CHECK_EQ(entries, postings.entries());
  return rows;
}

std::string random_term(Random& random) {
  std::string term(1 + random.below(random.one_in(20) ? 300 : 3), 'a');
  for (char& letter : term) letter = static_cast<char>(random.one_in(9) ? random.below(256) : 'a' + random.below(4));
  return term;
}

struct Made {
  std::vector<Row> rows;
  std::shared_ptr<const Postings> postings;
};

Made random_postings(Random& random, std::size_t most) {
  Made made;
  std::vector<std::string> terms;
  for (std::size_t i = 1 + random.below(60); i > 0; --i) terms.push_back(random_term(random));
  std::sort(terms.begin(), terms.end());
  terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
  random.shuffle(terms);
  std::vector<std::int32_t> numbers;
  std::vector<std::uint32_t> values;
  std::vector<std::int64_t> starts{0};
  made.rows.resize(random.below(most + 1));
  const std::size_t longest = std::size_t{1} << random.below(20);  // lengths of one, two and four bytes
  for (Row& row : made.rows) {
    for (std::size_t i = random.below(8); i > 0; --i) {
      const std::size_t number = random.below(terms.size());
      numbers.push_back(static_cast<std::int32_t>(number));
      values.push_back(static_cast<std::uint32_t>(1 + random.below(random.one_in(80) ? longest : 9)));
      row[terms[number]] += values.back();
    }
    starts.push_back(static_cast<std::int64_t>(numbers.size()));
  }
  const std::vector<std::string_view> views(terms.begin(), terms.end());
  Stop stop;
  made.postings = postings::of_terms(views, {starts, numbers, values}, stop);
  return made;
}

}  // namespace

TEST(documents_become_postings) {
  Random random(check::seed(), "documents");
  for (std::size_t turn = check::times(60, 2000); turn > 0; --turn) {
    const Made made = random_postings(random, random.one_in(5) ? 3000 : 60);
    CHECK(read(*made.postings) == made.rows);
    std::uint64_t length = 0;
    for (std::size_t row = 0; row < made.rows.size(); ++row) {
      std::uint32_t sum = 0;
      for (const auto& [term, value] : made.rows[row]) sum += value;
      CHECK_EQ(made.postings->lengths()[row], sum);
      length += sum;
    }
    CHECK_EQ(made.postings->length(), length);
    CHECK(!made.postings->dictionary().find("not there").found());
    CHECK(!made.postings->dictionary().find("").found());
  }
}

TEST(lengths_take_what_the_longest_needs) {
  Stop stop;
  const std::vector<std::string_view> terms{"a"};
  for (const std::uint32_t longest : {1U, 255U, 256U, 65535U, 65536U, 0x7FFFFFFFU}) {
    const std::vector<std::int64_t> starts{0, 1, 1, 2};
    const std::vector<std::int32_t> numbers{0, 0};
    const std::vector<std::uint32_t> values{3, longest};
    const auto made = postings::of_terms(terms, {starts, numbers, values}, stop);
    CHECK_EQ(made->lengths()[0], 3U);
    CHECK_EQ(made->lengths()[1], 0U);
    CHECK_EQ(made->lengths()[2], longest);
    CHECK_EQ(made->sizes().lengths, 3 * (longest < 256 ? 1U : longest < 65536 ? 2U : 4U));
    const auto sizes = made->sizes();
    CHECK_EQ(sizes.lists + sizes.terms + sizes.lengths, made->bytes().size());
  }
}

TEST(rows_of_several_are_gathered_in_any_order) {
  Random random(check::seed(), "gathered");
  for (std::size_t turn = check::times(60, 2000); turn > 0; --turn) {
    std::vector<Made> parts;
    std::vector<const Postings*> from;
    std::vector<postings::Source> sources;
    for (std::size_t p = 1 + random.below(4); p > 0; --p) parts.push_back(random_postings(random, 300));
    for (std::size_t p = 0; p < parts.size(); ++p) {
      from.push_back(parts[p].postings.get());
      for (std::size_t row = 0; row < parts[p].rows.size(); ++row) {
        if (!random.one_in(4)) sources.push_back({static_cast<std::uint32_t>(p), static_cast<std::uint32_t>(row)});
      }
    }
    if (random.one_in(2)) random.shuffle(sources);
    std::vector<Row> expected;
    for (const auto& [part, row] : sources) expected.push_back(parts[part].rows[row]);
    Stop stop;
    const auto gathered = postings::gathered(from, sources, false, stop);
    CHECK(read(*gathered) == expected);
    if (sources.empty()) continue;
    sources.push_back(sources[0]);
    CHECK_THROWS(postings::gathered(from, sources, false, stop), InvalidInput, "taken already");
    CHECK_THROWS(postings::gathered(from, sources, true, stop), InvalidInput, "one kind");
  }
}

TEST(vectors_are_kept_to_the_bit_and_checked) {
  Stop stop;
  const std::vector<std::int64_t> indices{7, 4294967295, 0, 7, 256};
  const std::vector<float> values{0.5F, 1e-30F, 3.0F, 0.0F, 2.0F};
  const std::vector<std::int64_t> starts{0, 3, 3, 5};
  const auto made = postings::of_vectors(indices, values, starts, stop);
  CHECK_EQ(made->rows(), std::size_t{3});
  CHECK_EQ(made->entries(), std::size_t{4});
  CHECK_EQ(made->dictionary().find(postings::NumberTerm(0).view()).number, std::size_t{0});
  CHECK_EQ(made->dictionary().find(postings::NumberTerm(256).view()).number, std::size_t{2});
  const std::vector<Row> rows = read(*made);
  CHECK_BITS(std::bit_cast<float>(rows[0].at(std::string(postings::NumberTerm(4294967295).view()))), 1e-30F);
  CHECK(rows[1].empty());
  const auto refused = [&](std::vector<std::int64_t> which, std::vector<float> weights, const char* part) {
    const std::vector<std::int64_t> one{0, static_cast<std::int64_t>(which.size())};
    CHECK_THROWS(postings::of_vectors(which, weights, one, stop), InvalidInput, part);
  };
  refused({3, 3}, {1, 2}, "index 3 twice");
  refused({-1}, {1}, "-1");
  refused({4294967296}, {1}, "4294967296");
  refused({1}, {-1}, "finite weights");
  refused({1}, {std::numeric_limits<float>::infinity()}, "finite weights");
  refused({1, 2}, {1}, "one for each");
}

TEST(changed_and_cut_bytes_are_refused_or_harmless) {
  Random random(check::seed(), "damaged postings");
  for (std::size_t turn = check::times(3000, 100000); turn > 0; --turn) {
    const Made made = random_postings(random, 40);
    const auto good = made.postings->bytes();
    auto bytes = std::make_shared<std::vector<std::uint64_t>>(good.size() / 8 + 1);  // aligned as files are
    std::memcpy(bytes->data(), good.data(), good.size());
    auto* data = reinterpret_cast<std::byte*>(bytes->data());
    for (std::size_t times = 1 + random.below(3); times > 0; --times) {
      data[random.below(random.one_in(2) ? sizeof(postings::Header) : good.size())] =
          static_cast<std::byte>(random.one_in(2) ? 0xFF : random.next());
    }
    const std::size_t size = random.one_in(4) ? random.below(good.size() + 1) : good.size();
    try {
      const Postings changed(std::span<const std::byte>(data, size), bytes);
      for (const Row& row : made.rows) {
        for (const auto& [term, value] : row) {
          const TermPlace place = changed.dictionary().find(term);
          if (!place.found()) continue;
          const postings::ListReader list = changed.list(place);
          for (std::size_t b = 0; b < list.blocks(); ++b) {
            Numbers numbers{};
            list.rows(b, numbers);
            for (std::size_t i = 0; i < list.size_of(b); ++i) CHECK(numbers[i] < changed.rows());
          }
        }
      }
      std::string before;
      for (TermWalk walk(changed.dictionary()); walk.next(); before = walk.term()) {
        CHECK(walk.place().number == 0 || before < walk.term());
      }
      Stop stop;
      const Postings* part = &changed;
      std::vector<postings::Source> all;
      for (std::uint32_t row = 0; row < changed.rows(); ++row) all.push_back({0, row});
      (void)read(*postings::gathered({&part, 1}, all, changed.weighted(), stop));
    } catch (const CorruptFile&) {
      continue;  // as good
    }
  }
}
