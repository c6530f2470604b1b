// SPDX-License-Identifier: Apache-2.0
// The check that decides whether an instruction set may run on this machine notices a single wrong
// kernel in any slot.
#include "kernels/self_test.hpp"

#include <bit>
#include <cstddef>
#include <utility>

#include "check.hpp"
#include "kernels/arch/tables.hpp"
#include "kernels/tables.hpp"

namespace {

using namespace evidex;
using kernels::Gather;
using kernels::kMetrics;
using kernels::Reach;
using kernels::Scan;
using kernels::Table;
using kernels::Tile;

float flip_last_bit(float value) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ 1U); }

enum class Fault { last_bit, last_row, sixth_row, short_dim, tail, unfused, negative_zero };

/// Turns right scores into what a kernel with the fault would give.
void spoil(Fault fault, const float* query, const float* row, std::size_t at, std::size_t n, std::size_t dim,
           float& score) {
  bool wrong = false;
  switch (fault) {
    case Fault::last_bit:
      wrong = true;
      break;
    case Fault::last_row:
      wrong = at + 1 == n;
      break;
    case Fault::sixth_row:
      wrong = at == 5;
      break;
    case Fault::short_dim:
      wrong = dim < 8;
      break;
    case Fault::tail:
      wrong = dim > 16 && dim % 16 == 1;
      break;
    case Fault::negative_zero:
      wrong = false;
      if (score == 0) score = -0.0F;
      break;
    case Fault::unfused: {
      float sum = 0;
      for (std::size_t i = 0; i < dim; ++i) sum += query[i] * row[i];
      score = sum;
      break;
    }
  }
  if (wrong) score = flip_last_bit(score);
}

template <std::size_t kMetric, Fault kFault>
void wrong_scan(const float* query, const float* rows, std::size_t stride, std::size_t n, std::size_t dim,
                float* scores) noexcept {
  kernels::scalar::kTable.metrics[kMetric].scan(query, rows, stride, n, dim, scores);
  for (std::size_t i = 0; i < n; ++i) spoil(kFault, query, rows + i * stride, i, n, dim, scores[i]);
}

template <std::size_t kMetric, Fault kFault>
void wrong_gather(const float* query, const float* const* rows, std::size_t n, std::size_t dim,
                  float* scores) noexcept {
  kernels::scalar::kTable.metrics[kMetric].gather(query, rows, n, dim, scores);
  for (std::size_t i = 0; i < n; ++i) spoil(kFault, query, rows[i], i, n, dim, scores[i]);
}

template <std::size_t kMetric, Fault kFault>
void wrong_tile(const float* queries, std::size_t nq, const float* const* rows, std::size_t n, std::size_t dim,
                float* scores, std::size_t stride) noexcept {
  for (std::size_t q = 0; q < nq; ++q) {
    wrong_gather<kMetric, kFault>(queries + q * dim, rows, n, dim, scores + q * stride);
  }
}

void notices(const Table& planted, const char* slot, std::size_t metric, Fault fault) {
  const check::Note note(slot, " of ", kMetrics[metric].name, ", fault ", static_cast<int>(fault));
  CHECK(!kernels::agrees_with_scalar(planted));
}

template <Fault kFault, std::size_t... kMetricNumbers>
void plant_each(const Table& base, std::index_sequence<kMetricNumbers...>) {
  const auto plant = [&](std::size_t metric, Scan scan, Gather gather, Tile tile) {
    Table planted = base;
    planted.metrics[metric].scan = scan;
    notices(planted, "scan", metric, kFault);
    planted = base;
    planted.metrics[metric].gather = gather;
    notices(planted, "gather", metric, kFault);
    planted = base;
    planted.metrics[metric].tile = tile;
    notices(planted, "tile", metric, kFault);
  };
  (plant(kMetricNumbers, &wrong_scan<kMetricNumbers, kFault>, &wrong_gather<kMetricNumbers, kFault>,
         &wrong_tile<kMetricNumbers, kFault>),
   ...);
}

template <Fault kFault>
void plant(const Table& base) {
  plant_each<kFault>(base, std::make_index_sequence<kMetrics.size()>{});
}

std::uint64_t strictly_above(const float* scores, float threshold) noexcept {
  std::uint64_t bits = 0;
  for (unsigned i = 0; i < 64; ++i) bits |= std::uint64_t{scores[i] > threshold} << i;
  return bits;
}

template <unsigned kLost>
std::uint64_t lost_position(const float* scores, float threshold) noexcept {
  return kernels::scalar::kTable.reach(scores, threshold) & ~(std::uint64_t{1} << kLost);
}

std::uint64_t everything(const float*, float) noexcept { return ~std::uint64_t{0}; }

}  // namespace

TEST(what_this_machine_runs_passes) {
  for (const Table* table : check::runnable_tables()) {
    CHECK(kernels::agrees_with_scalar(*table));
    const Table copy = *table;
    CHECK(kernels::agrees_with_scalar(copy));
  }
  for (const kernels::IsaStatus& status : kernels::report()) {
    CHECK_EQ(status.self_test == kernels::SelfTest::passed, status.supported);
    CHECK(status.self_test != kernels::SelfTest::failed);
  }
}

TEST(one_wrong_metric_kernel_is_noticed) {
  for (const Table* base : check::runnable_tables()) {
    plant<Fault::last_bit>(*base);
    plant<Fault::last_row>(*base);
    plant<Fault::sixth_row>(*base);
    plant<Fault::short_dim>(*base);
    plant<Fault::tail>(*base);
    plant<Fault::unfused>(*base);
  }
}

TEST(kernels_in_each_others_slots_are_noticed) {
  for (const Table* base : check::runnable_tables()) {
    for (std::size_t a = 0; a < kMetrics.size(); ++a) {
      for (std::size_t b = 0; b < kMetrics.size(); ++b) {
        if (a == b) continue;
        const check::Note note(kMetrics[b].name, " in the place of ", kMetrics[a].name);
        Table planted = *base;
        planted.metrics[a].scan = base->metrics[b].scan;
        CHECK(!kernels::agrees_with_scalar(planted));
        planted = *base;
        planted.metrics[a].gather = base->metrics[b].gather;
        CHECK(!kernels::agrees_with_scalar(planted));
        planted = *base;
        planted.metrics[a].tile = base->metrics[b].tile;
        CHECK(!kernels::agrees_with_scalar(planted));
      }
    }
  }
}

TEST(a_negative_zero_is_noticed) {
  for (const Table* base : check::runnable_tables()) plant<Fault::negative_zero>(*base);
}

TEST(a_wrong_reach_is_noticed) {
  for (const Table* base : check::runnable_tables()) {
    for (const Reach reach :
         {&strictly_above, &lost_position<0>, &lost_position<31>, &lost_position<63>, &everything}) {
      Table planted = *base;
      planted.reach = reach;
      CHECK(!kernels::agrees_with_scalar(planted));
    }
  }
}
