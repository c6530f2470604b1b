// SPDX-License-Identifier: Apache-2.0
// What is learnt depends on rows and seed alone, and finds clusters that are there.
//
// Seen red with: first centroids chosen at random (clusters that lie apart are missed).
#include "codecs/lookup_training.hpp"

#include <cmath>
#include <set>
#include <vector>

#include "check.hpp"
#include "random.hpp"

namespace {

using namespace evidex;
using check::Random;
using codecs::LookupKind;

codecs::LookupModel learn(LookupKind kind, const std::vector<float>& rows, std::size_t dim, std::uint64_t seed) {
  Stop stop;
  return codecs::train_lookup(kind, kernels::kMetrics[0], dim, rows, seed, stop);
}

}  // namespace

TEST(equal_rows_and_seeds_give_equal_models) {
  Random random(check::seed(), "training");
  std::vector<float> rows;
  for (std::size_t i = 0; i < std::size_t{400} * 50; ++i) rows.push_back(random.real());
  for (const LookupKind kind : {LookupKind::binary, LookupKind::pq4}) {
    const auto one = learn(kind, rows, 50, 9);
    const auto two = learn(kind, rows, 50, 9);
    CHECK(one.centroids == two.centroids);
    CHECK(one.reference == two.reference);
  }
  CHECK(learn(LookupKind::pq4, rows, 50, 9).centroids != learn(LookupKind::pq4, rows, 50, 10).centroids);
}

TEST(sixteen_clusters_are_found) {
  Random random(check::seed(), "clusters");
  for (int turn = 0; turn < 10; ++turn) {
    std::vector<float> rows;
    std::set<std::vector<float>> corners;
    for (std::size_t r = 0; r < 4000; ++r) {
      // The first corner has most of the rows: first centroids chosen at random all lie there at times.
      const std::size_t corner = random.one_in(20) ? random.below(16) : 0;
      for (std::size_t i = 0; i < 4; ++i) {
        rows.push_back((((corner >> i) & 1) != 0 ? 8.0F : -8.0F) + 0.01F * random.real());
      }
    }
    const auto model = learn(LookupKind::pq4, rows, 4, static_cast<std::uint64_t>(turn));
    for (std::size_t e = 0; e < 16; ++e) {
      std::vector<float> at;
      for (std::size_t i = 0; i < 4; ++i)
        at.push_back(std::round((model.centroids[i * 16 + e] + model.reference[i]) / 8));
      corners.insert(at);
    }
    CHECK_EQ(corners.size(), std::size_t{16});
  }
}

TEST(constant_rows_and_few_distinct_ones) {
  const std::vector<float> constant(std::size_t{300} * 8, 1.5F);
  for (const float centroid : learn(LookupKind::pq4, constant, 8, 1).centroids) CHECK_EQ(centroid, 0.0F);
  std::vector<float> two;
  for (std::size_t i = 0; i < std::size_t{300} * 8; ++i) two.push_back(i / 8 % 2 == 0 ? 1.0F : -1.0F);
  for (const float centroid : learn(LookupKind::pq4, two, 8, 1).centroids) CHECK(std::isfinite(centroid));
}
