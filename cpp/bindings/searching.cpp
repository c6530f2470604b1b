// SPDX-License-Identifier: Apache-2.0
#include "bindings/searching.hpp"

#include <algorithm>
#include <limits>

#include "base/cpu_budget.hpp"
#include "bindings/interrupt.hpp"

namespace evidex::bindings {
namespace {

using search::Hit;

py::array_t<std::int64_t> whole_numbers(std::size_t nq, std::size_t width) {
  return py::array_t<std::int64_t>({static_cast<py::ssize_t>(nq), static_cast<py::ssize_t>(width)});
}

/// Writes hits into an answer's arrays without touching a Python object.
class Writer {
 public:
  Writer(Answer& answer, std::size_t nq, std::size_t width) : width_(width) {
    answer.ids = whole_numbers(nq, width);
    answer.groups = whole_numbers(nq, width);
    answer.rows = whole_numbers(nq, width);
    answer.scores = py::array_t<float>({static_cast<py::ssize_t>(nq), static_cast<py::ssize_t>(width)});
    answer.counts = py::array_t<std::int64_t>(static_cast<py::ssize_t>(nq));
    ids_ = answer.ids.mutable_data();
    groups_ = answer.groups.mutable_data();
    rows_ = answer.rows.mutable_data();
    scores_ = answer.scores.mutable_data();
    counts_ = answer.counts.mutable_data();
  }

  void write(std::size_t query, const std::vector<Hit>& hits) const {
    constexpr Hit kNone{-std::numeric_limits<float>::infinity(), -1, -1};
    counts_[query] = static_cast<std::int64_t>(hits.size());
    for (std::size_t i = 0; i < width_; ++i) {
      const Hit& hit = i < hits.size() ? hits[i] : kNone;
      ids_[query * width_ + i] = hit.id;
      scores_[query * width_ + i] = hit.score;
      groups_[query * width_ + i] = hit.group;
      rows_[query * width_ + i] = i < hits.size() ? static_cast<std::int64_t>(hit.row) : -1;
    }
  }

 private:
  std::size_t width_;
  std::int64_t* ids_;
  std::int64_t* groups_;
  std::int64_t* rows_;
  float* scores_;
  std::int64_t* counts_;
};

index::Query query_of(const Rows& rows, std::size_t k, const Masks& masks, const Array<std::uint32_t>& mask_of,
                      unsigned threads) {
  const auto numbers = elements(mask_of, "mask_of");
  if (masks.empty()) throw InvalidInput("masks: expected at least one");
  if (!numbers.empty() && numbers.size() != rows.count) {
    throw InvalidInput("mask_of: " + std::to_string(numbers.size()) + " given for " + std::to_string(rows.count) +
                       " queries");
  }
  for (const std::uint32_t number : numbers) {
    if (number >= masks.size()) throw InvalidInput("mask_of: no mask has the number " + std::to_string(number));
  }
  return {rows.data, rows.count, k, masks, numbers, threads == 0 ? default_threads() : threads};
}

/// Plans the call, which tells what it will prove.
void plan(Answer& answer, const index::Snapshot& snapshot, const index::Query& query) {
  answer.plan = index::plan(snapshot, query);
  answer.certified = py::array_t<bool>(static_cast<py::ssize_t>(query.count));
  bool* certified = answer.certified.mutable_data();
  for (std::size_t q = 0; q < query.count; ++q) {
    certified[q] = !answer.plan.masks[query.mask_of.empty() ? 0 : query.mask_of[q]].lookup;
  }
}

void run(Answer& answer, const index::Snapshot& snapshot, const index::Query& query, const index::Sink& sink) {
  Stop stop = stop_on_signal();
  const py::gil_scoped_release unlocked;
  answer.trace = index::search(snapshot, query, answer.plan, sink, stop);
}

/// Runs a call whose arrays are as wide as the largest count.
void as_wide_as_found(Answer& answer, const index::Snapshot& snapshot, const index::Query& query) {
  std::vector<std::vector<Hit>> found(query.count);
  run(answer, snapshot, query, [&](std::size_t q, const std::vector<Hit>& hits) { found[q] = hits; });
  std::size_t width = 0;
  for (const auto& hits : found) width = std::max(width, hits.size());
  const Writer writer(answer, found.size(), width);
  for (std::size_t q = 0; q < found.size(); ++q) writer.write(q, found[q]);
}

}  // namespace

Answer search_best(const index::Snapshot& snapshot, const Array<float>& queries, std::size_t k, const Masks& masks,
                   const Array<std::uint32_t>& mask_of, unsigned threads, bool grouped,
                   const index::Approximate* approximate) {
  const Rows rows(queries, snapshot.dim, "queries");
  index::Query query = query_of(rows, k, masks, mask_of, threads);
  query.grouped = grouped;
  query.approximate = approximate;
  Answer answer;
  plan(answer, snapshot, query);
  // Up to here the caller gets the width it asked for; beyond, padding would cost real memory.
  constexpr std::size_t kWidestPadding = 65536;
  if (k > kWidestPadding) {
    as_wide_as_found(answer, snapshot, query);
    return answer;
  }
  const Writer writer(answer, rows.count, k);
  run(answer, snapshot, query, [&](std::size_t q, const std::vector<Hit>& hits) { writer.write(q, hits); });
  return answer;
}

Answer search_radius(const index::Snapshot& snapshot, const Array<float>& queries, float min_score, std::size_t limit,
                     const Masks& masks, const Array<std::uint32_t>& mask_of, unsigned threads) {
  const Rows rows(queries, snapshot.dim, "queries");
  index::Query query = query_of(rows, limit, masks, mask_of, threads);
  query.min_score = min_score;
  Answer answer;
  plan(answer, snapshot, query);
  as_wide_as_found(answer, snapshot, query);
  return answer;
}

}  // namespace evidex::bindings
