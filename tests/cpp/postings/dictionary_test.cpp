// SPDX-License-Identifier: Apache-2.0
// Terms against a sorted vector: each is found, none else is, and all come in their order.
//
// P10. Seen red with: bytes compared as signed ones, a block's last term sought in the next block, terms that only
// share more with the one before taken for larger, and the list of a block's first term reckoned from the block before.
#include "postings/dictionary.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "check.hpp"
#include "random.hpp"

namespace {

using namespace evidex;
using check::Random;
using postings::Dictionary;
using postings::DictionaryWriter;
using postings::TermPlace;
using postings::TermWalk;

std::string random_term(Random& random, std::size_t letters) {
  std::string term(random.one_in(30) ? random.below(400) : random.below(7), 'a');
  const bool any = random.one_in(4);
  for (char& letter : term) letter = static_cast<char>(any ? random.below(256) : 'a' + random.below(letters));
  return term;
}

std::vector<std::string> random_terms(Random& random) {
  std::vector<std::string> terms;
  const std::size_t letters = 1 + random.below(4);
  for (std::size_t i = random.below(random.one_in(3) ? 600 : 40); i > 0; --i) {
    terms.push_back(random_term(random, letters));
  }
  std::sort(terms.begin(), terms.end());
  terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
  return terms;
}

}  // namespace

TEST(terms_are_found_and_no_others) {
  Random random(check::seed(), "dictionary");
  for (std::size_t turn = check::times(150, 10000); turn > 0; --turn) {
    const std::vector<std::string> terms = random_terms(random);
    DictionaryWriter writer;
    std::vector<TermPlace> places;
    std::uint64_t begin = random.one_in(3) ? random.next() >> 16 : 0;
    for (const std::string& term : terms) {
      places.push_back({places.size(), begin, 1 + random.below(random.one_in(9) ? 100000 : 9)});
      writer.add(term, begin, places.back().bytes);
      begin += places.back().bytes;
    }
    CHECK_EQ(writer.terms(), terms.size());
    CHECK_EQ(writer.blocks().size(), Dictionary::block_count(terms.size()));
    const Dictionary dictionary(writer.blocks(), writer.bytes(), terms.size());
    TermWalk walk(dictionary);
    for (std::size_t t = 0; t < terms.size(); ++t) {
      const check::Note note("term ", t, " of ", terms.size());
      CHECK(walk.next());
      CHECK_EQ(walk.term(), std::string_view(terms[t]));
      for (const TermPlace& place : {walk.place(), dictionary.find(terms[t])}) {
        CHECK_EQ(place.number, t);
        CHECK_EQ(place.begin, places[t].begin);
        CHECK_EQ(place.bytes, places[t].bytes);
      }
    }
    CHECK(!walk.next());
    for (std::size_t tries = 0; tries < 200; ++tries) {
      std::string other = random_term(random, 4);
      if (!terms.empty() && random.one_in(2)) {  // nearly one of them
        other = terms[random.below(terms.size())];
        random.one_in(2) ? other.push_back(static_cast<char>(random.below(256)))
                         : other.resize(random.below(other.size() + 1));
      }
      CHECK_EQ(dictionary.find(other).found(), std::binary_search(terms.begin(), terms.end(), other));
    }
  }
}

TEST(damaged_terms_are_refused_or_harmless) {
  Random random(check::seed(), "damaged dictionary");
  for (std::size_t turn = check::times(2000, 100000); turn > 0; --turn) {
    const std::vector<std::string> terms = random_terms(random);
    DictionaryWriter writer;
    for (const std::string& term : terms) writer.add(term, 0, 1);
    std::vector<std::byte> bytes = writer.bytes();
    std::vector<postings::TermBlock> blocks = writer.blocks();
    if (terms.empty()) continue;
    for (std::size_t times = 1 + random.below(4); times > 0; --times) {
      bytes[random.below(bytes.size())] = static_cast<std::byte>(random.next());
    }
    if (random.one_in(3)) blocks[random.below(blocks.size())].at = static_cast<std::uint32_t>(random.next());
    if (random.one_in(3)) bytes.resize(random.below(bytes.size() + 1));
    bytes.shrink_to_fit();
    const Dictionary dictionary(blocks, bytes, terms.size());
    for (const std::string& term : terms) {
      try {
        (void)dictionary.find(term);
      } catch (const CorruptFile&) {
        continue;  // as good
      }
    }
    try {
      std::string before;
      std::size_t passed = 0;
      for (TermWalk walk(dictionary); walk.next(); before = walk.term(), ++passed) {
        CHECK(passed == 0 || before < walk.term());
      }
      CHECK_EQ(passed, terms.size());
    } catch (const CorruptFile&) {
      continue;  // as good
    }
  }
}
