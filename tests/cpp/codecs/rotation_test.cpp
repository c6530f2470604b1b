// SPDX-License-Identifier: Apache-2.0
// A rotation keeps products, depends on its seed alone and spreads what is concentrated.
//
// Seen red with: the second half of the rounds over the first components again (a unit vector at the end stays one),
// signs without the shrinking factor.
#include "codecs/rotation.hpp"

#include <cmath>
#include <vector>

#include "check.hpp"
#include "random.hpp"

namespace {

using namespace evidex;
using codecs::Rotation;

double product(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

std::vector<float> rotated(const Rotation& rotation, std::vector<float> vector) {
  rotation.apply(vector.data());
  return vector;
}

}  // namespace

TEST(products_are_kept) {
  check::Random random(check::seed(), "rotation");
  for (const std::size_t size : {1U, 2U, 3U, 31U, 32U, 96U, 384U, 768U, 800U, 1000U}) {
    const check::Note note(size, " components");
    const Rotation rotation(size, random.next());
    for (int i = 0; i < 20; ++i) {
      std::vector<float> a;
      std::vector<float> b;
      for (std::size_t j = 0; j < size; ++j) a.push_back(random.real());
      for (std::size_t j = 0; j < size; ++j) b.push_back(random.real());
      const double lengths = std::sqrt(product(a, a) * product(b, b));
      CHECK(std::fabs(product(rotated(rotation, a), rotated(rotation, b)) - product(a, b)) <= 1e-5 * lengths);
    }
  }
}

TEST(equal_seeds_give_equal_bits_and_others_do_not) {
  const std::vector<float> ones(96, 1.0F);
  CHECK(rotated(Rotation(96, 5), ones) == rotated(Rotation(96, 5), ones));
  CHECK(rotated(Rotation(96, 5), ones) != rotated(Rotation(96, 6), ones));
}

TEST(a_single_component_is_spread_over_all) {
  for (const std::size_t size : {96U, 384U, 800U}) {
    const Rotation rotation(size, 1);
    for (const std::size_t at : {std::size_t{0}, size / 2, size - 1}) {
      std::vector<float> vector(size);
      vector[at] = 1;
      for (const float component : rotated(rotation, vector)) CHECK(std::fabs(component) < 0.5F);
    }
  }
}
