// SPDX-License-Identifier: Apache-2.0
// The loop from sums to estimates and upper bounds: every instruction set computes the bits of scalar, in any number
// of rows, and whatever is not finite becomes a bound that leaves the row in. That the bounds are right is the
// business of tests/cpp/codecs.
//
// P7, P5. Seen red with the test for finite bounds left out of bounds.inl.hpp.
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "check.hpp"
#include "kernels/arch/tables.hpp"
#include "kernels/tables.hpp"
#include "random.hpp"

namespace {

using namespace evidex;
using check::Random;
using kernels::BoundTerms;
using kernels::kMetrics;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Rows {
  std::vector<std::int32_t> sums;
  std::vector<float> scales, norms, residuals;
};

Rows random_rows(std::size_t n, int low, int high, Random& random) {
  Rows rows;
  for (std::size_t i = 0; i < n; ++i) {
    rows.sums.push_back(static_cast<std::int32_t>(random.between(-500000000, 500000000)));
    rows.scales.push_back(std::fabs(random.with_exponent(low, high)));
    rows.norms.push_back(std::fabs(random.with_exponent(low, high)));
    rows.residuals.push_back(std::fabs(random.with_exponent(low, high)));
  }
  return rows;
}

BoundTerms random_terms(int low, int high, Random& random) {
  const auto positive = [&] { return std::fabs(random.with_exponent(low, high)); };
  return {random.one_in(2) ? 1 : 2,
          static_cast<std::int32_t>(random.between(-200000000, 200000000)),
          positive(),
          random.with_exponent(low, high),
          positive(),
          positive(),
          0.999F,
          positive()};
}

struct Results {
  std::vector<float> estimates, uppers;
};

Results run(const kernels::Table& table, std::size_t metric, const BoundTerms& terms, const Rows& rows) {
  const std::size_t n = rows.sums.size();
  Results results{std::vector<float>(n + 1, 77), std::vector<float>(n + 1, 77)};
  table.metrics[metric].bound(terms, rows.sums.data(), rows.scales.data(), rows.norms.data(), rows.residuals.data(), n,
                              results.estimates.data(), results.uppers.data());
  CHECK_BITS(results.estimates[n], 77.0F);
  CHECK_BITS(results.uppers[n], 77.0F);
  return results;
}

/// Magnitudes between 2^low and 2^high.
void compare(int low, int high) {
  Random random(check::seed(), "bounds", static_cast<std::uint64_t>(low + 1000));
  for (std::size_t again = check::times(300, 30000); again > 0; --again) {
    const Rows rows = random_rows(random.below(70), low, high, random);
    const BoundTerms terms = random_terms(low, high, random);
    for (std::size_t m = 0; m < kMetrics.size(); ++m) {
      const Results expected = run(kernels::scalar::kTable, m, terms, rows);
      for (const kernels::Table* table : check::runnable_tables()) {
        const check::Note note(table->isa, " ", kMetrics[m].name, ", ", rows.sums.size(), " rows");
        const Results found = run(*table, m, terms, rows);
        for (std::size_t i = 0; i < rows.sums.size(); ++i) {
          CHECK_BITS(found.uppers[i], expected.uppers[i]);
          CHECK(!std::isnan(found.uppers[i]) && found.uppers[i] != -kInfinity);
          if (!std::isnan(expected.estimates[i])) CHECK_BITS(found.estimates[i], expected.estimates[i]);
        }
      }
    }
  }
}

}  // namespace

TEST(ordinary_magnitudes) { compare(-10, 5); }
TEST(subnormal_products) { compare(-149, -60); }
TEST(products_that_overflow) { compare(40, 80); }
TEST(any_magnitudes) { compare(-149, 100); }

TEST(bounds_that_are_not_finite_leave_the_row_in) {
  const float none = std::nanf("");
  const BoundTerms usual{1, 0, 1, 0, 0, 0, 1, 0};
  for (const kernels::Table* table : check::runnable_tables()) {
    for (std::size_t m = 0; m < kMetrics.size(); ++m) {
      for (const float bad : {kInfinity, -kInfinity, none}) {
        for (const std::size_t at : {0U, 7U, 8U, 16U, 18U}) {
          const check::Note note(table->isa, " ", kMetrics[m].name, ", ", bad, " at ", at);
          Rows rows{std::vector<std::int32_t>(19, -5), std::vector<float>(19, 1), std::vector<float>(19, 1),
                    std::vector<float>(19, 0.5F)};
          const Results before = run(*table, m, usual, rows);
          rows.norms[at] = bad;
          BoundTerms terms = usual;
          terms.per_norm = kMetrics[m].distance ? 0.0F : 1.0F;
          CHECK_BITS(run(*table, m, terms, rows).uppers[at], kInfinity);
          rows.norms[at] = 1;
          rows.scales[at] = bad;
          const Results after = run(*table, m, usual, rows);
          for (std::size_t i = 0; i < 19; ++i) CHECK_BITS(after.uppers[i], i == at ? kInfinity : before.uppers[i]);
        }
      }
    }
  }
}
