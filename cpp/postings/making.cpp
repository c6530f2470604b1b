// SPDX-License-Identifier: Apache-2.0
#include "postings/making.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "postings/assembler.hpp"

namespace evidex::postings {
namespace {

constexpr std::uint64_t kMostQuarters = std::numeric_limits<std::uint32_t>::max();

void check_starts(std::span<const std::int64_t> starts, std::size_t entries) {
  if (starts.empty() || starts.front() != 0 || starts.back() != static_cast<std::int64_t>(entries) ||
      !std::is_sorted(starts.begin(), starts.end())) {
    throw InvalidInput("starts: expected numbers that ascend from 0 to that of the entries, " +
                       std::to_string(entries) + ", one more than there are documents");
  }
}

/// Rows and values by term: those of term t are [begin[t], begin[t + 1]), in the order of rows.
struct ByTerm {
  std::vector<std::size_t> begin;
  std::vector<std::uint32_t> rows;
  std::vector<std::uint32_t> values;
};

/// `rank(i)` is the place of entry i's term.
template <class Rank>
ByTerm by_term(std::span<const std::int64_t> starts, std::span<const std::uint32_t> values, std::size_t terms,
               Rank rank, Stop& stop) {
  ByTerm found{std::vector<std::size_t>(terms + 1), std::vector<std::uint32_t>(values.size()),
               std::vector<std::uint32_t>(values.size())};
  for (std::size_t i = 0; i < values.size(); ++i) ++found.begin[rank(i) + 1];
  std::partial_sum(found.begin.begin(), found.begin.end(), found.begin.begin());
  std::vector<std::size_t> next(found.begin.begin(), found.begin.end() - 1);
  for (std::size_t row = 0; row + 1 < starts.size(); ++row) {
    if (row % 4096 == 0) stop.throw_if_requested();
    for (auto i = static_cast<std::size_t>(starts[row]); i < static_cast<std::size_t>(starts[row + 1]); ++i) {
      const std::size_t at = next[rank(i)]++;
      found.rows[at] = static_cast<std::uint32_t>(row);
      found.values[at] = values[i];
    }
  }
  return found;
}

/// Adds up what a row has several times; how many rows are left.
std::size_t merge_repeats(std::span<std::uint32_t> rows, std::span<std::uint32_t> values) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (kept > 0 && rows[kept - 1] == rows[i]) {
      values[kept - 1] += values[i];
    } else {
      rows[kept] = rows[i];
      values[kept++] = values[i];
    }
  }
  return kept;
}

std::vector<std::uint32_t> lengths_of(const Documents& documents) {
  std::vector<std::uint32_t> lengths(documents.starts.size() - 1);
  for (std::size_t row = 0; row < lengths.size(); ++row) {
    std::uint64_t sum = 0;
    for (auto i = documents.starts[row]; i < documents.starts[row + 1]; ++i) {
      const std::uint32_t value = documents.values[static_cast<std::size_t>(i)];
      if (value == 0 || value > kMostQuarters / 2) {
        throw InvalidInput("documents[" + std::to_string(row) + "]: expected weights from 1 on, got " +
                           std::to_string(static_cast<std::int32_t>(value)));
      }
      sum += value;
    }
    if (sum > kMostQuarters) throw InvalidInput("documents[" + std::to_string(row) + "]: it is too long");
    lengths[row] = static_cast<std::uint32_t>(sum);
  }
  return lengths;
}

}  // namespace

std::shared_ptr<const Postings> of_terms(std::span<const std::string_view> terms, const Documents& documents,
                                         Stop& stop) {
  check_starts(documents.starts, documents.numbers.size());
  if (documents.values.size() != documents.numbers.size()) throw InvalidInput("weights: expected one for each number");
  for (const std::int32_t number : documents.numbers) {
    if (number < 0 || static_cast<std::size_t>(number) >= terms.size()) {
      throw InvalidInput("numbers: no term has the number " + std::to_string(number));
    }
  }
  std::vector<std::uint32_t> order(terms.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return terms[a] < terms[b]; });
  std::vector<std::uint32_t> place(terms.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = static_cast<std::uint32_t>(i);
    if (i > 0 && terms[order[i]] == terms[order[i - 1]]) throw InvalidInput("terms: expected distinct ones");
  }
  Assembler to(lengths_of(documents), false);
  const auto rank = [&](std::size_t i) { return place[static_cast<std::size_t>(documents.numbers[i])]; };
  ByTerm found = by_term(documents.starts, documents.values, terms.size(), rank, stop);
  for (std::size_t t = 0; t < terms.size(); ++t) {
    if (t % 4096 == 0) stop.throw_if_requested();
    const std::size_t count = found.begin[t + 1] - found.begin[t];
    const std::span rows = std::span(found.rows).subspan(found.begin[t], count);
    const std::span values = std::span(found.values).subspan(found.begin[t], count);
    const std::size_t kept = merge_repeats(rows, values);
    if (kept > 0) to.add(terms[order[t]], rows.first(kept), values.first(kept));
  }
  return to.finish();
}

std::shared_ptr<const Postings> of_vectors(std::span<const std::int64_t> indices, std::span<const float> values,
                                           std::span<const std::int64_t> starts, Stop& stop) {
  check_starts(starts, indices.size());
  if (values.size() != indices.size()) throw InvalidInput("values: expected one for each index");
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || indices[i] > std::numeric_limits<std::uint32_t>::max()) {
      throw InvalidInput("indices: expected numbers from 0 to 4294967295, got " + std::to_string(indices[i]));
    }
    if (!std::isfinite(values[i]) || values[i] < 0) {
      throw InvalidInput("values: expected finite weights from 0 on, got " + std::to_string(values[i]));
    }
  }
  std::vector<std::int64_t> terms(indices.begin(), indices.end());
  std::sort(terms.begin(), terms.end());
  terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
  std::vector<std::uint32_t> bits(values.size());
  std::transform(values.begin(), values.end(), bits.begin(),
                 [](float value) { return std::bit_cast<std::uint32_t>(value); });
  std::vector<std::size_t> ranks(indices.size());
  std::transform(indices.begin(), indices.end(), ranks.begin(), [&](std::int64_t index) {
    return static_cast<std::size_t>(std::lower_bound(terms.begin(), terms.end(), index) - terms.begin());
  });
  ByTerm found = by_term(starts, bits, terms.size(), [&](std::size_t i) { return ranks[i]; }, stop);
  Assembler to(std::vector<std::uint32_t>(starts.size() - 1), true);
  std::vector<std::uint32_t> rows;
  std::vector<std::uint32_t> weights;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    rows.clear();
    weights.clear();
    for (std::size_t i = found.begin[t]; i < found.begin[t + 1]; ++i) {
      if (i > found.begin[t] && found.rows[i] == found.rows[i - 1]) {
        throw InvalidInput("documents[" + std::to_string(found.rows[i]) + "]: it has index " +
                           std::to_string(terms[t]) + " twice");
      }
      if (std::bit_cast<float>(found.values[i]) == 0) continue;
      rows.push_back(found.rows[i]);
      weights.push_back(found.values[i]);
    }
    if (!rows.empty()) to.add(NumberTerm(static_cast<std::uint32_t>(terms[t])).view(), rows, weights);
  }
  return to.finish();
}

}  // namespace evidex::postings
