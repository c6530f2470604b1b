// SPDX-License-Identifier: Apache-2.0
// Codes and tables against their definitions in double: what a row is coded as, and how far its estimate may be from
// the product of query and decoded row (each entry is rounded by half a step at most).
//
// Seen red with: the centroid of the largest product taken for the nearest, a query centred under inner products, the
// addend left out under squared L2, steps of 16 in place of 31 to the widest table.
#include "codecs/lookup_code.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "check.hpp"
#include "codecs/lookup_training.hpp"
#include "kernels/tables.hpp"
#include "random.hpp"

namespace {

using namespace evidex;
using check::Random;
using codecs::LookupKind;
using codecs::LookupModel;

struct Sample {
  std::size_t dim;
  std::vector<float> rows;  // [n, dim]

  std::size_t size() const { return rows.size() / dim; }
  const float* row(std::size_t i) const { return rows.data() + i * dim; }
};

Sample sample(std::size_t n, std::size_t dim, Random& random, float centre = 0.5F) {
  Sample found{dim, {}};
  for (std::size_t i = 0; i < n * dim; ++i) found.rows.push_back(random.real() + centre);
  return found;
}

unsigned code_of(const std::vector<std::uint8_t>& block, std::size_t position, std::size_t row) {
  const std::uint8_t both = block[position * 32 + row % 32];
  return row < 32 ? both % 16U : both / 16U;
}

/// What a row's code stands for, in the components that codes are made of.
std::vector<double> decoded(const LookupModel& model, const std::vector<std::uint8_t>& block, std::size_t row) {
  std::vector<double> found;
  for (std::size_t p = 0; p < model.positions; ++p) {
    for (std::size_t i = 0; i < 4; ++i) {
      found.push_back(static_cast<double>(model.centroids[(p * 4 + i) * 16 + code_of(block, p, row)]));
    }
  }
  return found;
}

void compare(LookupKind kind, const kernels::Metric& metric, std::size_t dim, Random& random) {
  const check::Note note(codecs::kLookupKinds[static_cast<std::size_t>(kind)], ", ", metric.name, ", ", dim);
  Stop stop;
  const Sample rows = sample(300, dim, random);
  const LookupModel model = codecs::train_lookup(kind, metric, dim, rows.rows, 3, stop);
  CHECK_EQ(model.positions % 8, std::size_t{0});
  CHECK(model.components() >= dim && model.components() < dim + 32);
  codecs::LookupEncoder encoder(model);
  std::vector<std::uint8_t> block(model.positions * 32);
  std::vector<kernels::LookupFacts> facts(64);
  for (std::size_t r = 0; r < 64; ++r) (void)encoder.encode(rows.row(r), r, block.data(), facts[r]);

  const Sample queries = sample(5, dim, random, 0.0F);
  std::vector<float> own(model.components());
  for (std::size_t q = 0; q < queries.size(); ++q) {
    std::vector<std::uint8_t> tables(model.positions * 32);
    const kernels::LookupTerms terms = codecs::lookup_tables(model, queries.row(q), tables);
    CHECK_EQ(*std::max_element(tables.begin(), tables.end()), kernels::kMostEntry);  // the widest table has all steps
    std::vector<float> asked(model.components());
    codecs::to_components(model, queries.row(q), metric.distance, asked.data());
    double base = 0;
    for (std::size_t i = 0; i < dim; ++i) {
      const double x = static_cast<double>(queries.row(q)[i]);
      const double c = static_cast<double>(model.reference[i]);
      base += metric.distance ? -(x - c) * (x - c) : x * c;
    }
    std::vector<std::uint16_t> sums(64);
    std::vector<float> estimates(64);
    const kernels::Table& scalar = *check::runnable_tables().back();
    scalar.lookups.sums(block.data(), tables.data(), model.positions, sums.data());
    scalar.lookups.estimates(terms, sums.data(), facts.data(), estimates.data());
    for (std::size_t r = 0; r < 64; ++r) {
      codecs::to_components(model, rows.row(r), true, own.data());
      const std::vector<double> code = decoded(model, block, r);
      double own_square = 0;
      double own_code = 0;
      double query_code = 0;
      for (std::size_t i = 0; i < own.size(); ++i) {
        own_square += static_cast<double>(own[i]) * static_cast<double>(own[i]);
        own_code += static_cast<double>(own[i]) * code[i];
        query_code += static_cast<double>(asked[i]) * code[i];
      }
      const double factor = own_square / (kind == LookupKind::pq4 ? std::max(own_code, own_square / 2) : own_code);
      const double times = metric.distance ? 2.0 : 1.0;
      const double wanted = base + factor * times * query_code - (metric.distance ? own_square : 0.0);
      const double steps = 0.5 * static_cast<double>(model.positions) * static_cast<double>(terms.step);
      const double slack = factor * steps + 0.01 * (std::fabs(factor * times * query_code) + own_square);
      CHECK(std::fabs(static_cast<double>(estimates[r]) - wanted) <= slack);
      if (kind == LookupKind::pq4) {  // nearest, by every centroid
        for (std::size_t p = 0; p < model.positions; ++p) {
          const auto distance = [&](std::size_t entry) {
            double square = 0;
            for (std::size_t i = 0; i < 4; ++i) {
              const double away =
                  static_cast<double>(own[p * 4 + i]) - static_cast<double>(model.centroids[(p * 4 + i) * 16 + entry]);
              square += away * away;
            }
            return square;
          };
          const double chosen = distance(code_of(block, p, r));
          for (std::size_t entry = 0; entry < 16; ++entry) CHECK(chosen <= distance(entry) + 1e-5);
        }
      } else {
        for (std::size_t i = 0; i < own.size(); ++i) CHECK_EQ(code[i], own[i] > 0 ? 1.0 : -1.0);
      }
    }
  }
}

}  // namespace

TEST(codes_and_estimates_follow_their_definition) {
  Random random(check::seed(), "lookup codes");
  for (const kernels::Metric& metric : kernels::kMetrics) {
    for (const std::size_t dim : {1U, 4U, 31U, 32U, 33U, 100U, 384U}) {
      compare(LookupKind::binary, metric, dim, random);
      compare(LookupKind::pq4, metric, dim, random);
    }
  }
}

TEST(a_row_at_the_reference_and_endless_queries_do_no_harm) {
  Stop stop;
  const std::vector<float> rows(std::size_t{256} * 32, 0.25F);
  for (const LookupKind kind : {LookupKind::binary, LookupKind::pq4}) {
    const LookupModel model = codecs::train_lookup(kind, kernels::kMetrics[2], 32, rows, 1, stop);
    codecs::LookupEncoder encoder(model);
    std::vector<std::uint8_t> block(model.positions * 32);
    kernels::LookupFacts facts = 77;
    const codecs::LookupFit fit = encoder.encode(rows.data(), 0, block.data(), facts);
    CHECK_EQ(fit.square, 0.0);
    CHECK_EQ(facts & 0x7FFF7FFFU, 0U);
    for (const float size : {0.0F, 0x1p62F, 0x1p127F, std::numeric_limits<float>::max()}) {
      const std::vector<float> query(32, size);
      std::vector<std::uint8_t> tables(model.positions * 32, 99);
      (void)codecs::lookup_tables(model, query.data(), tables);
      for (const std::uint8_t entry : tables) CHECK(entry <= kernels::kMostEntry);
    }
  }
}
