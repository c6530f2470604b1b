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

/// Whether one part's next term comes after another's; heaps have the greatest at the top, so the first is there.
struct After {
  const std::vector<TermWalk>& walks;

  bool operator()(std::size_t a, std::size_t b) const {
    const int order = walks[a].term().compare(walks[b].term());
    return order != 0 ? order > 0 : a > b;
  }
};

/// The terms of all parts in their order, those of a term in the order of the parts.
class Merge {
 public:
  explicit Merge(std::span<const Postings* const> parts) : parts_(parts) {
    for (const Postings* part : parts) walks_.emplace_back(part->dictionary());
    for (std::size_t part = 0; part < parts.size(); ++part) push(part);
  }

  bool done() const noexcept { return heap_.empty(); }
  std::string_view term() const { return walks_[heap_.front()].term(); }

  /// Calls f(part, place) for each part with the first term, and passes it.
  template <class F>
  void each_of(const std::string& term, F&& f) {
    while (!done() && this->term() == term) {
      const std::size_t part = heap_.front();
      f(part, walks_[part].place());
      std::pop_heap(heap_.begin(), heap_.end(), After{walks_});
      heap_.pop_back();
      push(part);
    }
  }

 private:
  void push(std::size_t part) {
    if (!parts_[part]->named([&] { return walks_[part].next(); })) return;
    heap_.push_back(part);
    std::push_heap(heap_.begin(), heap_.end(), After{walks_});
  }

  std::span<const Postings* const> parts_;
  std::vector<TermWalk> walks_;
  std::vector<std::size_t> heap_;
};

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
  Merge merge(parts);
  std::vector<Entry> entries;
  std::vector<std::uint32_t> new_rows;
  std::vector<std::uint32_t> values;
  while (!merge.done()) {
    stop.throw_if_requested();
    const std::string term(merge.term());
    entries.clear();
    merge.each_of(term, [&](std::size_t part, const TermPlace& place) {
      parts[part]->named([&] { append(entries, parts[part]->list(place), found.numbers[part]); });
    });
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
