// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "postings/assembler.hpp"
#include "postings/making.hpp"

namespace evidex::postings {
namespace {

constexpr std::uint32_t kLeftOut = std::numeric_limits<std::uint32_t>::max();

struct TermOf {
  std::string_view term;
  std::uint32_t part;
  std::uint32_t number;
};

std::vector<TermOf> all_terms(std::span<const Postings* const> parts) {
  std::vector<TermOf> found;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    for (std::size_t t = 0; t < parts[p]->terms(); ++t) {
      found.push_back({parts[p]->term(t), static_cast<std::uint32_t>(p), static_cast<std::uint32_t>(t)});
    }
  }
  std::sort(found.begin(), found.end(),
            [](const TermOf& a, const TermOf& b) { return a.term != b.term ? a.term < b.term : a.part < b.part; });
  return found;
}

/// New numbers of each part's rows, and the new rows' lengths.
struct Renumbered {
  std::vector<std::vector<std::uint32_t>> numbers;
  std::vector<std::uint32_t> lengths;
};

Renumbered renumbered(std::span<const Postings* const> parts, std::span<const Source> rows, bool weighted) {
  Renumbered found;
  for (const Postings* part : parts) {
    if (part->weighted() != weighted) throw InvalidInput("postings: expected all of one kind, of text or of vectors");
    found.numbers.emplace_back(part->rows(), kLeftOut);
  }
  found.lengths.resize(rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const auto [part, from] = rows[row];
    if (part >= parts.size() || from >= parts[part]->rows() || found.numbers[part][from] != kLeftOut) {
      throw InvalidInput("rows: row " + std::to_string(from) + " of part " + std::to_string(part) +
                         " is not there, or taken already");
    }
    found.numbers[part][from] = static_cast<std::uint32_t>(row);
    if (!weighted) found.lengths[row] = parts[part]->lengths()[from];
  }
  return found;
}

using Entry = std::pair<std::uint32_t, std::uint32_t>;  // row, value

void append(std::vector<Entry>& to, const ListReader& list, const std::vector<std::uint32_t>& numbers) {
  Numbers rows;
  Numbers values;
  for (std::size_t b = 0; b < list.blocks(); ++b) {
    list.rows_and_values(b, rows, values);
    for (std::size_t i = 0; i < list.size_of(b); ++i) {
      if (const std::uint32_t row = numbers[rows[i]]; row != kLeftOut) to.emplace_back(row, values[i]);
    }
  }
}

}  // namespace

std::shared_ptr<const Postings> gathered(std::span<const Postings* const> parts, std::span<const Source> rows,
                                         bool weighted, Stop& stop) {
  Renumbered found = renumbered(parts, rows, weighted);
  Assembler to(std::move(found.lengths), weighted);
  const std::vector<TermOf> terms = all_terms(parts);
  std::vector<Entry> entries;
  std::vector<std::uint32_t> new_rows;
  std::vector<std::uint32_t> values;
  for (std::size_t i = 0; i < terms.size();) {
    stop.throw_if_requested();
    const std::string_view term = terms[i].term;
    entries.clear();
    for (; i < terms.size() && terms[i].term == term; ++i) {
      append(entries, parts[terms[i].part]->list(terms[i].number), found.numbers[terms[i].part]);
    }
    if (!std::is_sorted(entries.begin(), entries.end())) std::sort(entries.begin(), entries.end());
    new_rows.clear();
    values.clear();
    for (const auto& [row, value] : entries) {
      new_rows.push_back(row);
      values.push_back(value);
    }
    if (!entries.empty()) to.add(term, new_rows, values);
  }
  return to.finish();
}

}  // namespace evidex::postings
