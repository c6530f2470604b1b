// SPDX-License-Identifier: Apache-2.0
// Every metric's loops on every instruction set against the exact reference, bit for bit, over
// dimensions, counts, alignments and strides that loops like to get wrong.
//
// P5. Seen red with: the last four lanes of avx2.cpp added neighbour by neighbour, its load_tail
// masking one element too many away, the product in scalar.cpp rounded before its sum, `+ 0.0F` left out of
// InnerProduct::finish, the clamp left out of Cosine::finish.
#include "kernels/metrics.hpp"

#include <array>
#include <cmath>
#include <vector>

#include "check.hpp"
#include "kernels/tables.hpp"
#include "random.hpp"
#include "reference.hpp"

namespace {

using namespace evidex;

constexpr std::size_t kMostRows = 64;
constexpr std::array<std::size_t, 11> kCounts{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, kMostRows};

std::vector<std::size_t> all_dims() {
  std::vector<std::size_t> dims;
  for (std::size_t d = 1; d <= 70; ++d) dims.push_back(d);
  for (const std::size_t d : {127U, 128U, 129U, 384U, 1000U}) dims.push_back(d);
  return dims;
}

enum class Kind { ordinary, wide, tiny, huge, zeros };

/// Kept within the norm limit of squared 2^125 whatever the dimension.
float value(Kind kind, std::size_t dim, check::Random& random) {
  switch (kind) {
    case Kind::ordinary:
      return random.real();
    case Kind::wide:
      return random.with_exponent(-70, 50);
    case Kind::tiny:
      return random.one_in(4) ? random.with_exponent(-149, -126) : random.with_exponent(-76, -70);
    case Kind::huge: {
      const float most = static_cast<float>(0x1p62 / std::sqrt(static_cast<double>(dim)));
      return random.real() * most;
    }
    case Kind::zeros:
      break;
  }
  const float choices[] = {0.0F, -0.0F, 1.0F, -1.0F, 0x1p-149F, -0x1p-149F};
  return choices[random.below(6)];
}

struct Data {
  std::size_t dim;
  std::vector<float> query;
  std::vector<float> rows;  // [kMostRows, dim]
};

Data make(Kind kind, std::size_t dim, check::Random& random) {
  Data data{dim, std::vector<float>(dim), std::vector<float>(kMostRows * dim)};
  for (float& v : data.query) v = value(kind, dim, random);
  for (float& v : data.rows) v = value(kind, dim, random);
  std::copy(data.query.begin(), data.query.end(), data.rows.begin() + static_cast<std::ptrdiff_t>(2 * dim));
  return data;
}

/// The same rows laid out `stride` apart from an address off any alignment; the gaps hold NaN, which
/// would show in any score that read them.
struct Layout {
  Layout(const Data& data, std::size_t gap, std::size_t offset)
      : stride(data.dim + gap),
        storage(offset + kMostRows * stride + 16, std::nanf("")),
        query(offset + data.dim + 16, std::nanf("")) {
    rows = storage.data() + offset;
    q = query.data() + offset;
    std::copy(data.query.begin(), data.query.end(), q);
    for (std::size_t r = 0; r < kMostRows; ++r) {
      std::copy_n(data.rows.data() + r * data.dim, data.dim, rows + r * stride);
    }
  }

  std::size_t stride;
  std::vector<float> storage;
  std::vector<float> query;
  float* rows;
  float* q;
};

constexpr float kUntouched = 12345.0F;

void check_scores(const std::array<float, kMostRows + 1>& scores, const std::array<float, kMostRows>& expected,
                  std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    CHECK_BITS(scores[i], expected[i]);
    CHECK(!(scores[i] == 0 && std::signbit(scores[i])));
  }
  CHECK_BITS(scores[n], kUntouched);
}

/// A tile of the first rows as queries: each must score as gather scores it alone.
void check_tile(const kernels::MetricKernels& kernel, const Data& data, const std::array<const float*, kMostRows>& rows,
                std::size_t n) {
  constexpr std::size_t kStride = kMostRows + 1;
  for (const std::size_t nq : {1UL, 2UL, 3UL, 5UL}) {
    std::vector<float> scores(nq * kStride, kUntouched);
    kernel.tile(data.rows.data(), nq, rows.data(), n, data.dim, scores.data(), kStride);
    for (std::size_t q = 0; q < nq; ++q) {
      std::array<float, kMostRows> wanted;
      kernel.gather(data.rows.data() + q * data.dim, rows.data(), n, data.dim, wanted.data());
      std::array<float, kStride> of_query;
      std::copy_n(scores.begin() + static_cast<std::ptrdiff_t>(q * kStride), kStride, of_query.begin());
      check_scores(of_query, wanted, n);
    }
  }
}

void check_metric(const Data& data, const Layout& layout, std::size_t metric, check::Random& random) {
  std::array<float, kMostRows> expected;
  for (std::size_t r = 0; r < kMostRows; ++r) {
    expected[r] = reference::kExact[metric](data.query.data(), data.rows.data() + r * data.dim, data.dim);
  }
  for (const kernels::Table* table : check::runnable_tables()) {
    const check::Note note(table->isa, " ", kernels::kMetrics[metric].name);
    const kernels::MetricKernels& kernel = table->metrics[metric];
    for (const std::size_t n : kCounts) {
      std::array<float, kMostRows + 1> scores;
      scores.fill(kUntouched);
      kernel.scan(layout.q, layout.rows, layout.stride, n, data.dim, scores.data());
      check_scores(scores, expected, n);

      std::array<const float*, kMostRows> pointers;
      std::array<float, kMostRows> wanted;
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t r = random.below(kMostRows);
        pointers[i] = layout.rows + r * layout.stride;
        wanted[i] = expected[r];
      }
      scores.fill(kUntouched);
      kernel.gather(layout.q, pointers.data(), n, data.dim, scores.data());
      check_scores(scores, wanted, n);

      check_tile(kernel, data, pointers, n);
    }
  }
}

void check_kind(Kind kind) {
  check::Random random(check::seed(), "metrics", static_cast<std::uint64_t>(kind));
  for (const std::size_t dim : all_dims()) {
    for (std::size_t again = check::times(1, 20); again > 0; --again) {
      const Data data = make(kind, dim, random);
      const std::size_t gap = random.below(4) * random.below(10);
      const std::size_t offset = random.below(17);
      const check::Note note("dim ", dim, ", gap ", gap, ", offset ", offset);
      const Layout layout(data, gap, offset);
      for (std::size_t m = 0; m < kernels::kMetrics.size(); ++m) check_metric(data, layout, m, random);
    }
  }
}

}  // namespace

TEST(ordinary_values) { check_kind(Kind::ordinary); }
TEST(values_of_many_magnitudes) { check_kind(Kind::wide); }
TEST(subnormal_values_products_and_sums) { check_kind(Kind::tiny); }
TEST(values_near_the_norm_limit) { check_kind(Kind::huge); }
TEST(signed_zeros_and_least_values) { check_kind(Kind::zeros); }

TEST(a_row_scores_plus_zero_against_itself_under_squared_l2) {
  check::Random random(check::seed(), "itself");
  constexpr std::size_t kL2 = kernels::definitions::SquaredL2::id;
  for (const kernels::Table* table : check::runnable_tables()) {
    for (const std::size_t dim : all_dims()) {
      const Data data = make(Kind::wide, dim, random);
      float score = 1;
      table->metrics[kL2].scan(data.query.data(), data.query.data(), dim, 1, dim, &score);
      CHECK_BITS(score, 0.0F);
    }
  }
}

TEST(sums_that_underflow_below_zero_score_plus_zero) {
  // No padding here: a lane that only saw products rounded to -0 is -0, and so is their sum.
  for (const std::size_t dim : {16U, 32U, 64U, 384U}) {
    const std::vector<float> q(dim, 0x1p-80F);
    const std::vector<float> opposite(dim, -0x1p-80F);
    const float* row = opposite.data();
    for (const kernels::Table* table : check::runnable_tables()) {
      for (std::size_t m = 0; m < kernels::kMetrics.size(); ++m) {
        const check::Note note(table->isa, " ", kernels::kMetrics[m].name, ", dim ", dim);
        float score = 1;
        table->metrics[m].scan(q.data(), row, dim, 1, dim, &score);
        CHECK_BITS(score, 0.0F);
        score = 1;
        table->metrics[m].gather(q.data(), &row, 1, dim, &score);
        CHECK_BITS(score, reference::kExact[m](q.data(), row, dim));
      }
    }
  }
}

TEST(cosine_is_clamped) {
  const std::vector<float> q(40, 0.2F);  // squared norm 1.6
  std::vector<float> opposite(40, -0.2F);
  constexpr std::size_t kCosine = kernels::definitions::Cosine::id;
  for (const kernels::Table* table : check::runnable_tables()) {
    float score = 0;
    table->metrics[kCosine].scan(q.data(), q.data(), 40, 1, 40, &score);
    CHECK_BITS(score, 1.0F);
    table->metrics[kCosine].scan(q.data(), opposite.data(), 40, 1, 40, &score);
    CHECK_BITS(score, -1.0F);
  }
}

TEST(every_metric_is_named_and_numbered_by_its_place) {
  for (std::size_t i = 0; i < kernels::kMetrics.size(); ++i) {
    CHECK_EQ(kernels::kMetrics[i].id, i);
    CHECK(!kernels::kMetrics[i].name.empty());
    CHECK(!kernels::kMetrics[i].alias.empty());
    for (std::size_t j = 0; j < i; ++j) CHECK(kernels::kMetrics[i].name != kernels::kMetrics[j].name);
  }
}
