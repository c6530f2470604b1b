// SPDX-License-Identifier: Apache-2.0
#include "bindings/searching.hpp"

#include <optional>
#include <string>

#include "base/cpu_budget.hpp"
#include "bindings/interrupt.hpp"

namespace evidex::bindings {
namespace {

index::Query query_of(const Rows& rows, std::size_t k, const Masks& masks, const Array<std::uint32_t>& mask_of,
                      unsigned threads) {
  const auto numbers = elements(mask_of, "mask_of");
  require_masks(masks, numbers, rows.count);
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

}  // namespace

void require_masks(const Masks& masks, std::span<const std::uint32_t> mask_of, std::size_t count) {
  if (masks.empty()) throw InvalidInput("masks: expected at least one");
  if (!mask_of.empty() && mask_of.size() != count) {
    throw InvalidInput("mask_of: " + std::to_string(mask_of.size()) + " given for " + std::to_string(count) +
                       " queries");
  }
  for (const std::uint32_t number : mask_of) {
    if (number >= masks.size()) throw InvalidInput("mask_of: no mask has the number " + std::to_string(number));
  }
}

Answer search_best(const index::Snapshot& snapshot, const Array<float>& queries, std::size_t k, const Masks& masks,
                   const Array<std::uint32_t>& mask_of, unsigned threads, bool grouped,
                   const index::Approximate* approximate) {
  const Rows rows(queries, snapshot.dim, "queries");
  index::Query query = query_of(rows, k, masks, mask_of, threads);
  query.grouped = grouped;
  query.approximate = approximate;
  Answer answer;
  plan(answer, snapshot, query);
  fill(answer, rows.count, k, [&](const index::Sink& sink) { run(answer, snapshot, query, sink); });
  return answer;
}

Answer search_radius(const index::Snapshot& snapshot, const Array<float>& queries, float min_score, std::size_t limit,
                     const Masks& masks, const Array<std::uint32_t>& mask_of, unsigned threads) {
  const Rows rows(queries, snapshot.dim, "queries");
  index::Query query = query_of(rows, limit, masks, mask_of, threads);
  query.min_score = min_score;
  Answer answer;
  plan(answer, snapshot, query);
  fill(answer, rows.count, std::nullopt, [&](const index::Sink& sink) { run(answer, snapshot, query, sink); });
  return answer;
}

}  // namespace evidex::bindings
