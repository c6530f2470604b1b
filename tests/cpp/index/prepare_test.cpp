// SPDX-License-Identifier: Apache-2.0
// P8. Seen red with: the norm limit compared with >=, the scale left out of the normalisation (1e30 and
// 1e-38 fail), the row's number reported from the start of the block.
#include "index/prepare.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "check.hpp"
#include "kernels/dispatch.hpp"
#include "random.hpp"
#include "reference.hpp"

namespace {

using namespace evidex;
using kernels::kMetrics;
using kernels::Metric;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> prepared(const Metric& metric, std::size_t dim, const std::vector<float>& source,
                            std::size_t from = 0) {
  const std::size_t n = source.size() / dim - from;
  std::vector<float> target(n * dim);
  index::prepare(metric, dim, source.data(), from, n, target.data(), "vectors");
  return target;
}

void expect_unit(const std::vector<float>& source) {
  const Metric& cosine = kMetrics[kernels::definitions::Cosine::id];
  for (const kernels::IsaStatus& status : kernels::report()) {
    if (!status.supported) continue;
    kernels::force(status.name);
    const std::vector<float> target = prepared(cosine, source.size(), source);
    const std::vector<float> expected = reference::unit<reference::ExactFma>(source);
    double squared = 0;
    for (std::size_t i = 0; i < source.size(); ++i) {
      CHECK_BITS(target[i], expected[i]);
      squared += static_cast<double>(target[i]) * static_cast<double>(target[i]);
    }
    CHECK(std::fabs(squared - 1) < 1e-6);
  }
}

}  // namespace

TEST(whatever_is_not_finite_is_named_with_row_and_position) {
  check::Random random(check::seed(), "finite");
  for (const Metric& metric : kMetrics) {
    for (const std::size_t dim : {1U, 7U, 8U, 9U, 16U, 30U}) {
      for (const float bad : {kNan, -kNan, kInfinity, -kInfinity}) {
        std::vector<float> rows(5 * dim, 0.5F);
        const std::size_t row = random.below(5);
        const std::size_t at = random.below(dim);
        rows[row * dim + at] = bad;
        const std::string where = "queries: row " + std::to_string(row) + " holds ";
        const std::string position = "at position " + std::to_string(at) + ";";
        std::vector<float> target(rows.size());
        const auto call = [&] { index::prepare(metric, dim, rows.data(), 0, 5, target.data(), "queries"); };
        CHECK_THROWS(call(), InvalidInput, where);
        CHECK_THROWS(call(), InvalidInput, position);
      }
    }
  }
}

TEST(rows_are_numbered_from_the_start_of_the_source) {
  const Metric& product = kMetrics[0];
  std::vector<float> rows(10 * 4, 1);
  rows[8 * 4 + 2] = kNan;
  CHECK_THROWS(prepared(product, 4, rows, 6), InvalidInput, "row 8 ");
  rows[8 * 4 + 2] = 0x1p100F;
  CHECK_THROWS(prepared(product, 4, rows, 6), InvalidInput, "row 8 ");
  rows[8 * 4 + 2] = 3;
  const std::vector<float> last = prepared(product, 4, rows, 8);
  CHECK_EQ(last.size(), 8U);
  CHECK_BITS(last[2], 3.0F);
}

TEST(rows_that_keep_their_length_move_as_bits) {
  check::Random random(check::seed(), "bits");
  for (const Metric& metric : kMetrics) {
    if (metric.unit_rows) continue;
    std::vector<float> rows(6 * 11);
    for (float& v : rows) v = random.one_in(4) ? -0.0F : random.with_exponent(-149, 50);
    const std::vector<float> target = prepared(metric, 11, rows);
    for (std::size_t i = 0; i < rows.size(); ++i) CHECK_BITS(target[i], rows[i]);
    const std::vector<float> zeros(11);
    CHECK(prepared(metric, 11, zeros) == zeros);
  }
}

TEST(a_zero_vector_has_no_cosine) {
  const Metric& cosine = kMetrics[kernels::definitions::Cosine::id];
  for (const float zero : {0.0F, -0.0F}) {
    std::vector<float> rows(3 * 20, 1);
    for (std::size_t i = 0; i < 20; ++i) rows[20 + i] = zero;
    CHECK_THROWS(prepared(cosine, 20, rows), InvalidInput, "row 1 is all zeros");
    rows[20 + 19] = 0x1p-149F;
    (void)prepared(cosine, 20, rows);
  }
}

TEST(the_norm_limit_itself_is_allowed_and_just_above_is_not) {
  for (const Metric& metric : kMetrics) {
    const std::vector<float> at{0x1p62F, -0x1p62F};  // 2^124 + 2^124
    const std::vector<float> above{0x1p62F, std::nextafter(0x1p62F, kInfinity)};
    std::vector<float> spread(32, 0x1p60F);  // 32 * 2^120
    if (metric.unit_rows) {
      expect_unit(at);
      expect_unit(above);
      expect_unit(std::vector<float>(7, std::numeric_limits<float>::max()));
      continue;
    }
    CHECK(prepared(metric, 2, at) == at);
    CHECK_THROWS(prepared(metric, 2, above), InvalidInput, "above the limit 2^125");
    CHECK_THROWS(prepared(metric, 2, above), InvalidInput, metric.name);
    CHECK(prepared(metric, 32, spread) == spread);
    spread[31] = std::nextafter(spread[31], kInfinity);
    CHECK_THROWS(prepared(metric, 32, spread), InvalidInput, "row 0 has squared norm");
    CHECK_THROWS(prepared(metric, 1, {std::numeric_limits<float>::max()}), InvalidInput, "row 0");
  }
}

TEST(scores_at_the_limit_stay_finite) {
  check::Random random(check::seed(), "limit");
  for (const Metric& metric : kMetrics) {
    if (metric.unit_rows) continue;
    for (const std::size_t dim : {1U, 2U, 15U, 33U, 129U}) {
      std::vector<float> row(dim,
                             static_cast<float>(0x1p62 * std::sqrt(2.0 / static_cast<double>(dim)) * (1 - 0x1p-20)));
      for (float& v : row) v = random.one_in(2) ? v : -v;
      std::vector<float> opposite = row;
      for (float& v : opposite) v = -v;
      (void)prepared(metric, dim, row);
      for (const kernels::IsaStatus& status : kernels::report()) {
        if (!status.supported) continue;
        float score = 0;
        status.table->metrics[static_cast<std::size_t>(metric.id)].scan(row.data(), opposite.data(), dim, 1, dim,
                                                                        &score);
        CHECK(std::isfinite(score) && score <= -0x1p120F);
      }
    }
  }
}

TEST(cosine_scales_any_length_to_one) {
  check::Random random(check::seed(), "scale");
  for (const std::size_t dim : {1U, 2U, 3U, 16U, 17U, 100U}) {
    for (const float factor : {1.0F, 1e30F, 1e-30F, 1e-38F, 3e38F, 0x1p-126F, 0x1p-140F, 0x1p-149F}) {
      const check::Note note("dim ", dim, ", factor ", factor);
      std::vector<float> row(dim);
      for (float& v : row) v = random.real() * factor;
      row[random.below(dim)] = random.one_in(2) ? factor : -factor;
      expect_unit(row);
    }
    std::vector<float> lone(dim);
    lone[dim - 1] = -0x1p-149F;
    expect_unit(lone);
  }
}

TEST(cosine_ignores_powers_of_two) {
  check::Random random(check::seed(), "powers");
  const Metric& cosine = kMetrics[kernels::definitions::Cosine::id];
  std::vector<float> row(37);
  for (float& v : row) v = random.with_exponent(-3, 3);
  const std::vector<float> expected = prepared(cosine, 37, row);
  for (const int power : {-100, -1, 1, 40, 120}) {
    std::vector<float> scaled = row;
    for (float& v : scaled) v = std::ldexp(v, power);
    const std::vector<float> target = prepared(cosine, 37, scaled);
    for (std::size_t i = 0; i < 37; ++i) CHECK_BITS(target[i], expected[i]);
  }
}
