// SPDX-License-Identifier: Apache-2.0
// The two-level mask against a vector of booleans.
//
// P1. Seen red with: bits beyond `rows` left set by the constructor, the first block's words not cut
// at `begin` in for_each_word, `&` taking the longer of two masks, select() keeping the word's highest
// bit in place of its lowest, next_used() looking at words of the region before `begin`, or passing the one it begins
// at.
#include "search/bitmask.hpp"

#include <algorithm>
#include <vector>

#include "check.hpp"
#include "random.hpp"

namespace {

using namespace evidex;
using search::Bitmask;
using Model = std::vector<bool>;

const std::vector<std::size_t> kSizes{0, 1, 63, 64, 65, 127, 4095, 4096, 4097, 8191, 8193, 262144, 262145};

enum class Shape { none, all, half, rare, runs, last, first };

Model make(std::size_t rows, Shape shape, check::Random& random) {
  Model model(rows);
  bool run = false;
  for (std::size_t i = 0; i < rows; ++i) {
    if (random.one_in(500)) run = !run;
    model[i] = shape == Shape::all || (shape == Shape::half && random.one_in(2)) ||
               (shape == Shape::rare && random.one_in(997)) || (shape == Shape::runs && run) ||
               (shape == Shape::last && i + 1 == rows) || (shape == Shape::first && i == 0);
  }
  return model;
}

std::vector<std::uint8_t> pack(const Model& model, std::uint8_t stray) {
  std::vector<std::uint8_t> bytes((model.size() + 7) / 8);
  if (model.size() % 8 != 0) bytes.back() = static_cast<std::uint8_t>(stray << (model.size() % 8));
  for (std::size_t i = 0; i < model.size(); ++i) {
    if (model[i]) bytes[i / 8] = static_cast<std::uint8_t>(bytes[i / 8] | (1U << (i % 8)));
  }
  return bytes;
}

void check_words(const Bitmask& mask, const Model& model, std::size_t begin, std::size_t end) {
  const check::Note note("words ", begin, " to ", end);
  std::size_t next = begin;
  const auto expect_empty_up_to = [&](std::size_t word) {
    for (; next < word; ++next) {
      for (std::size_t i = next * 64; i < std::min(model.size(), next * 64 + 64); ++i) CHECK(!model[i]);
    }
  };
  mask.for_each_word(begin, end, [&](std::size_t at, std::uint64_t word) {
    CHECK(at >= next && at < end && at < mask.words());
    expect_empty_up_to(at);
    CHECK(word != 0);
    for (std::size_t i = 0; i < 64; ++i) {
      const std::size_t row = at * 64 + i;
      CHECK_EQ(((word >> i) & 1) != 0, row < model.size() && model[row]);
    }
    next = at + 1;
  });
  expect_empty_up_to(std::min(end, mask.words()));
  std::size_t used = begin;
  while (used < mask.words() && mask.word(used) == 0) ++used;
  CHECK_EQ(mask.next_used(begin), std::min(used, mask.words()));
}

void check_same(const Bitmask& mask, const Model& model, check::Random& random) {
  CHECK_EQ(mask.rows(), model.size());
  CHECK_EQ(mask.words(), (model.size() + 63) / 64);
  CHECK_EQ(mask.count(), std::count(model.begin(), model.end(), true));
  std::size_t used = 0;
  mask.for_each_word(0, mask.words(), [&](std::size_t, std::uint64_t) { ++used; });
  CHECK_EQ(mask.used_words(), used);
  for (std::size_t i = 0; i < model.size(); ++i) {
    if (mask.test(i) != model[i]) CHECK_EQ(i, model.size());  // names the row
  }
  CHECK(!mask.test(model.size()));
  CHECK(!mask.test(model.size() + 64 * 64));
  check_words(mask, model, 0, mask.words());
  check_words(mask, model, 0, mask.words() + 100);
  for (int i = 0; i < 6; ++i) {
    const std::size_t begin = random.below(mask.words() + 2);
    check_words(mask, model, begin, begin + random.below(200));
  }
}

template <class Body>
void for_all(const char* stream, Body body) {
  check::Random random(check::seed(), stream);
  for (const std::size_t rows : kSizes) {
    for (const Shape shape :
         {Shape::none, Shape::all, Shape::half, Shape::rare, Shape::runs, Shape::last, Shape::first}) {
      const check::Note note(rows, " rows, shape ", static_cast<int>(shape));
      body(make(rows, shape, random), random);
    }
  }
}

}  // namespace

TEST(packed_bytes_with_stray_bits) {
  for_all("packed", [](const Model& model, check::Random& random) {
    check_same(Bitmask::from_packed(model.size(), pack(model, 0xFF)), model, random);
  });
}

TEST(row_numbers_in_any_order) {
  for_all("rows", [](const Model& model, check::Random& random) {
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 0; i < model.size(); ++i) {
      if (model[i]) numbers.insert(numbers.end(), 1 + random.below(2), static_cast<std::int64_t>(i));
    }
    random.shuffle(numbers);
    for (const std::int64_t outside :
         {std::int64_t{-1}, static_cast<std::int64_t>(model.size()), INT64_MIN, INT64_MAX}) {
      numbers.push_back(outside);
    }
    check_same(Bitmask::from_rows(model.size(), numbers), model, random);
  });
}

TEST(words_with_too_many_or_too_few) {
  check::Random random(check::seed(), "words");
  check_same(Bitmask(70, {~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}}), Model(70, true), random);
  Model first(200);
  first[3] = true;
  check_same(Bitmask(200, {8}), first, random);
  check_same(Bitmask(0, {7}), Model(), random);
}

TEST(ones) {
  check::Random random(check::seed(), "ones");
  for (const std::size_t rows : kSizes) check_same(Bitmask::ones(rows), Model(rows, true), random);
}

TEST(both_of_masks_that_may_differ_in_length) {
  for_all("and", [](const Model& model, check::Random& random) {
    const std::size_t lengths[] = {model.size(), model.size() / 2, model.size() + 1, model.size() + 5000};
    const Model other = make(lengths[random.below(4)], random.one_in(4) ? Shape::all : Shape::half, random);
    Model both(std::min(model.size(), other.size()));
    for (std::size_t i = 0; i < both.size(); ++i) both[i] = model[i] && other[i];
    const Bitmask a = Bitmask::from_packed(model.size(), pack(model, 0));
    const Bitmask b = Bitmask::from_packed(other.size(), pack(other, 0));
    check_same(a & b, both, random);
    check_same(b & a, both, random);
  });
}

TEST(select_keeps_by_position_among_the_set_bits) {
  for_all("select", [](const Model& model, check::Random& random) {
    const auto visible = static_cast<std::size_t>(std::count(model.begin(), model.end(), true));
    const Model wanted = make(visible, random.one_in(3) ? Shape::rare : Shape::half, random);
    Model expected(model.size());
    std::size_t position = 0;
    for (std::size_t i = 0; i < model.size(); ++i) {
      if (model[i]) expected[i] = wanted[position++];
    }
    const Bitmask mask = Bitmask::from_packed(model.size(), pack(model, 0));
    check_same(mask.select(pack(wanted, 0xFF)), expected, random);
  });
}

TEST(every_range_of_a_small_mask) {
  check::Random random(check::seed(), "ranges");
  const Model model = make(64 * 70 + 5, Shape::rare, random);
  const Bitmask mask = Bitmask::from_packed(model.size(), pack(model, 0));
  for (std::size_t begin = 0; begin <= mask.words() + 1; ++begin) {
    for (std::size_t end = 0; end <= mask.words() + 1; ++end) check_words(mask, model, begin, end);
  }
}

TEST(ranges_around_the_summaries_edges) {
  check::Random random(check::seed(), "edges");
  for (const Shape shape : {Shape::all, Shape::rare, Shape::last}) {
    const Model model = make(262144 + 4097, shape, random);
    const Bitmask mask = Bitmask::from_packed(model.size(), pack(model, 0));
    for (const std::size_t begin : {0U, 1U, 63U, 64U, 65U, 4031U, 4032U, 4033U, 4095U, 4096U, 4097U, 4160U}) {
      for (const std::size_t length : {0U, 1U, 2U, 63U, 64U, 65U, 130U})
        check_words(mask, model, begin, begin + length);
    }
  }
}
