// SPDX-License-Identifier: Apache-2.0
// A query and a row as a search sees them: coded, summed and bounded by one instruction set's kernels, beside what
// the mathematics says, in long double.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "check.hpp"
#include "codecs/error_bound.hpp"
#include "codecs/int8.hpp"
#include "coding.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/tables.hpp"
#include "reference.hpp"

namespace evidex::check {

using Wide = long double;

struct Pair {
  std::vector<float> query;  // as prepared
  std::vector<float> row;
  std::vector<float> reference;
};

inline Wide product(const std::vector<Wide>& a, const std::vector<Wide>& b) {
  Wide sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}
inline Wide norm(const std::vector<Wide>& a) { return std::sqrt(product(a, a)); }
inline std::vector<Wide> minus(std::vector<Wide> a, const std::vector<Wide>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return a;
}
inline std::vector<Wide> wide(const std::vector<float>& a) { return {a.begin(), a.end()}; }

/// One level of the code: the high plane alone, or both planes.
struct Level {
  bool both;
  float estimate;
  float upper;
};

class Coded {
 public:
  /// `code_only`: the row becomes what its code decodes to, and the reference is zero.
  Coded(const kernels::Table& table, const kernels::Metric& of, Pair given, bool code_only = false)
      : metric(of),
        pair(std::move(given)),
        dim_(pair.row.size()),
        bytes_(codecs::plane_bytes(dim_)),
        planes_(2 * bytes_),
        query_codes_(2 * bytes_) {
    std::uint8_t* high_plane = planes_.data();
    std::uint8_t* low_plane = planes_.data() + bytes_;
    codecs::Int8Encoder encoder(table, dim_, pair.reference.data());
    facts = code_only ? encoder.encode_and_replace(pair.row.data(), high_plane, low_plane)
                      : encoder.encode(pair.row.data(), high_plane, low_plane);
    const codecs::QueryBounds bounds = codecs::bound_query(metric, pair.reference, pair.query.data(), query_codes_);
    step_ = bounds.full.step / (metric.distance ? 2.0F : 1.0F);
    std::int32_t sums[2];
    table.codes.scan(query_codes_.data(), planes_.data(), 2, bytes_, sums);
    const auto bound = [&](const kernels::BoundTerms& terms, std::int32_t sum, kernels::RowFacts packed, Level& level) {
      float scale = 0;
      float row_norm = 0;
      float residual = 0;
      table.codes.unpack(&packed, 1, &scale, &row_norm, &residual);
      table.metrics[static_cast<std::size_t>(metric.id)].bound(terms, &sum, &scale, &row_norm, &residual, 1,
                                                               &level.estimate, &level.upper);
    };
    bound(bounds.high, sums[0], codecs::pack(facts.scale, facts.high_norm, facts.high_residual), high);
    bound(bounds.full, bounds.combined(sums[0], sums[1]), codecs::pack(facts.scale, facts.norm, facts.residual), full);
    // Without the clamp of cosine, which a bound knows nothing of.
    const auto slot = static_cast<std::size_t>(metric.distance ? metric.id : kernels::definitions::InnerProduct::id);
    table.metrics[slot].scan(pair.query.data(), pair.row.data(), dim_, 1, dim_, &score);
  }

  /// The row less the reference, as a level knows it.
  std::vector<Wide> decoded(const Level& level) const {
    std::vector<Wide> row;
    for (std::size_t i = 0; i < dim_; ++i) {
      const int u = reference::nibble(planes_.data(), bytes_, i);
      const int l = reference::nibble(planes_.data() + bytes_, bytes_, i);
      row.push_back(Wide{facts.scale} * (level.both ? 16 * u + l - 128 : 16 * u - 120));
    }
    return row;
  }
  Wide exact() const {
    const std::vector<Wide> q = wide(pair.query);
    const std::vector<Wide> x = wide(pair.row);
    return metric.distance ? -product(minus(q, x), minus(q, x)) : product(q, x);
  }
  /// What is coded of the query, and what its code stands for.
  std::vector<Wide> target() const {
    return metric.distance ? minus(wide(pair.query), wide(pair.reference)) : wide(pair.query);
  }
  std::vector<Wide> decoded_target() const {
    std::vector<Wide> query;
    for (std::size_t i = 0; i < dim_; ++i) query.push_back(Wide{step_} * query_codes_[i]);
    return query;
  }
  /// Norm of what decoding loses of the row, and of the query.
  Wide row_lost(const Level& level) const {
    return norm(minus(minus(wide(pair.row), wide(pair.reference)), decoded(level)));
  }
  Wide query_lost() const { return norm(minus(target(), decoded_target())); }

  /// How far an estimate can be off, by the triangle inequality alone.
  Wide slack(const Level& level) const {
    const Wide lost = row_lost(level);
    const Wide by_query = query_lost() * norm(decoded(level));
    if (!metric.distance) return norm(target()) * lost + by_query;
    return 2 * (norm(minus(target(), decoded(level))) * lost + by_query) + lost * lost;
  }
  /// What rounding can add to that, with room.
  Wide rounding(const Level& level) const {
    const Wide row = norm(decoded(level));
    const Wide of_query = norm(target()) + query_lost();
    if (!metric.distance) {
      return 0x1p-18L * of_query * (norm(wide(pair.reference)) + row + row_lost(level)) + 0x1p-115L;
    }
    return 0x1p-16L * (of_query + row) * (of_query + row) + 0x1p-115L;
  }

  const kernels::Metric& metric;
  Pair pair;
  codecs::CodeFacts facts{};
  Level high{false, 0, 0};
  Level full{true, 0, 0};
  float score = 0;  // canonical

 private:
  std::size_t dim_;
  std::size_t bytes_;
  std::vector<std::uint8_t> planes_;  // high, low
  std::vector<std::int8_t> query_codes_;
  float step_ = 0;
};

/// The bound holds, and the estimate is no further off than the slack, at both levels; the same bits on every
/// instruction set.
inline void check_pair(const kernels::Metric& metric, const Pair& pair, bool code_only = false) {
  const auto tables = runnable_tables();
  const Coded coded(*tables[0], metric, pair, code_only);
  const Wide exact = coded.exact();
  for (const Level* level : {&coded.high, &coded.full}) {
    const Note note(metric.name, ", dim ", pair.row.size(), level->both ? ", both planes" : ", high plane", ", score ",
                    show(coded.score), ", upper ", show(level->upper), ", estimate ", show(level->estimate));
    CHECK(level->upper >= coded.score);
    // Numbers near the norm limit may overflow on the way; then the row stays, and the estimate is anything.
    if (!std::isfinite(level->estimate)) continue;
    const Wide slack = coded.slack(*level);
    const Wide rounding = coded.rounding(*level);
    CHECK(std::fabs(exact - Wide{level->estimate}) <= slack + rounding);
    // A bound that is far above leaves nothing out. Of a residual eight bits are kept, and the least float and
    // the least 16 bits of one are as much too large as a norm rounded up can be.
    if (metric.distance || pair.row.size() > 1000) continue;
    const Wide least = 0x1p-133L * norm(wide(pair.query)) + 0x1p-148L * norm(coded.decoded(*level));
    CHECK(level->upper <= level->estimate + (1 + 0x1p-7L) * slack + least + 2 * rounding);
  }
  for (std::size_t i = 1; i < tables.size(); ++i) {
    const Note note(tables[i]->isa);
    const Coded other(*tables[i], metric, pair, code_only);
    CHECK_BITS(other.score, coded.score);
    CHECK_BITS(other.high.upper, coded.high.upper);
    CHECK_BITS(other.full.upper, coded.full.upper);
    if (std::isfinite(coded.high.estimate)) CHECK_BITS(other.high.estimate, coded.high.estimate);
    if (std::isfinite(coded.full.estimate)) CHECK_BITS(other.full.estimate, coded.full.estimate);
  }
}

}  // namespace evidex::check
