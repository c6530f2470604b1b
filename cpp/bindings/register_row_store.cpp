// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <memory>

#include "base/cpu_budget.hpp"
#include "bindings/arrays.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/register.hpp"
#include "index/flat.hpp"
#include "index/row_store.hpp"

namespace evidex::bindings {
namespace {

using index::RowStore;
using index::Snapshot;
using search::Bitmask;

std::unique_ptr<RowStore> make_store(std::size_t dim, int metric) {
  if (dim == 0) throw InvalidInput("dim: expected at least 1, got 0");
  if (metric < 0 || static_cast<std::size_t>(metric) >= kernels::kMetrics.size()) {
    throw InvalidInput("metric: no metric has the number " + std::to_string(metric));
  }
  return std::make_unique<RowStore>(dim, kernels::kMetrics[static_cast<std::size_t>(metric)]);
}

index::Batch batch(const RowStore& store, std::span<const std::int64_t> ids, std::size_t n, const Array<float>& vectors,
                   const Array<std::uint32_t>& rules) {
  const Rows rows(vectors, store.snapshot()->dim, "vectors");
  const auto rule_of_row = elements(rules, "rules");
  if (rows.count != n || rule_of_row.size() != n) {
    throw InvalidInput("ids, vectors and rules differ in length: " + std::to_string(n) + ", " +
                       std::to_string(rows.count) + ", " + std::to_string(rule_of_row.size()));
  }
  return {ids, rows.data, rule_of_row};
}

// The arrays are alive and unshared copies or the caller's own for the whole call; the core reads
// them without the GIL and touches no Python object.
template <void (RowStore::*kWrite)(const index::Batch&, Stop&)>
void write(RowStore& store, const Array<std::int64_t>& ids, const Array<float>& vectors,
           const Array<std::uint32_t>& rules) {
  const auto given = elements(ids, "ids");
  const index::Batch rows = batch(store, given, given.size(), vectors, rules);
  Stop stop = stop_on_signal();
  const py::gil_scoped_release unlocked;
  (store.*kWrite)(rows, stop);
}

std::int64_t add_automatic(RowStore& store, const Array<float>& vectors, const Array<std::uint32_t>& rules) {
  const index::Batch rows = batch(store, {}, static_cast<std::size_t>(rules.size()), vectors, rules);
  Stop stop = stop_on_signal();
  const py::gil_scoped_release unlocked;
  return store.add_automatic(rows, stop);
}

void remove(RowStore& store, const Array<std::int64_t>& ids) {
  const auto given = elements(ids, "ids");
  const py::gil_scoped_release unlocked;
  store.remove(given);
}

py::tuple find(const RowStore& store, const Array<std::int64_t>& ids) {
  const auto given = elements(ids, "ids");
  index::Found found;
  {
    const py::gil_scoped_release unlocked;
    found = store.find(given);
  }
  return py::make_tuple(std::const_pointer_cast<Snapshot>(found.snapshot), to_array(std::move(found.rows)));
}

py::array_t<float> vectors(const Snapshot& snapshot, const Array<std::int64_t>& numbers) {
  const auto rows = elements(numbers, "numbers");
  py::array_t<float> out({static_cast<py::ssize_t>(rows.size()), static_cast<py::ssize_t>(snapshot.dim)});
  float* target = out.mutable_data();
  for (const std::int64_t row : rows) {
    if (row < 0 || static_cast<std::size_t>(row) >= snapshot.rows) {
      throw InvalidInput("numbers: no row " + std::to_string(row) + " in this snapshot");
    }
    std::copy_n(snapshot.vector(static_cast<std::size_t>(row)), snapshot.dim, target);
    target += snapshot.dim;
  }
  return out;
}

/// Results of one call as arrays [nq, width]; places beyond a query's hits get id -1 and score -infinity.
struct Results {
  Results(std::size_t nq, std::size_t most)
      : width(most),
        ids({static_cast<py::ssize_t>(nq), static_cast<py::ssize_t>(most)}),
        scores({static_cast<py::ssize_t>(nq), static_cast<py::ssize_t>(most)}),
        ids_begin(ids.mutable_data()),
        scores_begin(scores.mutable_data()) {}

  void write(std::size_t query, const std::vector<search::Hit>& hits) const {
    std::int64_t* id = ids_begin + query * width;
    float* score = scores_begin + query * width;
    for (std::size_t i = 0; i < width; ++i) {
      id[i] = i < hits.size() ? hits[i].id : -1;
      score[i] = i < hits.size() ? hits[i].score : -std::numeric_limits<float>::infinity();
    }
  }

  std::size_t width;
  py::array_t<std::int64_t> ids;
  py::array_t<float> scores;
  std::int64_t* ids_begin;
  float* scores_begin;
};

void run(const Snapshot& snapshot, const index::Query& query, const index::Plan& planned, const index::Sink& sink) {
  Stop stop = stop_on_signal();
  const py::gil_scoped_release unlocked;
  index::search(snapshot, query, planned, sink, stop);
}

unsigned thread_limit(unsigned threads) { return threads == 0 ? default_threads() : threads; }

/// (ids [nq, width], scores [nq, width], permitted, returned, workers).
py::tuple search_best(const Snapshot& snapshot, const Array<float>& queries, std::size_t k, const Bitmask& allow,
                      unsigned threads) {
  const Rows rows(queries, snapshot.dim, "queries");
  const index::Query query{rows.data, rows.count, k, allow, thread_limit(threads)};
  const index::Plan planned = index::plan(snapshot, query);
  // Below this the caller gets the width it asked for; above, padding would cost real memory.
  constexpr std::size_t kWidestPadding = 65536;
  const Results results(rows.count, k <= kWidestPadding ? k : planned.returned);
  run(snapshot, query, planned, [&](std::size_t q, const std::vector<search::Hit>& hits) { results.write(q, hits); });
  return py::make_tuple(results.ids, results.scores, planned.permitted, planned.returned, planned.workers);
}

/// (ids [nq, width], scores [nq, width], counts [nq]); width is the largest count.
py::tuple search_radius(const Snapshot& snapshot, const Array<float>& queries, float min_score, std::size_t limit,
                        const Bitmask& allow, unsigned threads) {
  const Rows rows(queries, snapshot.dim, "queries");
  const index::Query query{rows.data, rows.count, limit, allow, thread_limit(threads), min_score};
  std::vector<std::vector<search::Hit>> found(rows.count);
  run(snapshot, query, index::plan(snapshot, query),
      [&](std::size_t q, const std::vector<search::Hit>& hits) { found[q] = hits; });
  std::vector<std::int64_t> counts;
  std::size_t width = 0;
  for (const auto& hits : found) {
    counts.push_back(static_cast<std::int64_t>(hits.size()));
    width = std::max(width, hits.size());
  }
  const Results results(rows.count, width);
  for (std::size_t q = 0; q < found.size(); ++q) results.write(q, found[q]);
  return py::make_tuple(results.ids, results.scores, to_array(std::move(counts)));
}

}  // namespace

void register_row_store(py::module_& m) {
  py::class_<Snapshot, std::shared_ptr<Snapshot>>(m, "Snapshot", "An immutable view of a row store.")
      .def_readonly("layout", &Snapshot::layout)
      .def_readonly("generation", &Snapshot::generation)
      .def_readonly("rows", &Snapshot::rows)
      .def_property_readonly("live_rows", &Snapshot::live_rows)
      .def("live", &Snapshot::live)
      .def(
          "grant",
          [](const Snapshot& s, const Array<std::uint8_t>& allowed) { return s.grant(elements(allowed, "allowed")); },
          py::arg("allowed").noconvert())
      .def("count", &Snapshot::count_permitted, py::arg("mask"))
      .def(
          "ids", [](const Snapshot& s, const Bitmask& mask) { return to_array(s.permitted_ids(mask)); },
          py::arg("mask"))
      .def("vectors", &vectors, py::arg("numbers").noconvert())
      .def("search", &search_best, py::arg("queries").noconvert(), py::arg("k"), py::arg("allow"), py::arg("threads"))
      .def("radius", &search_radius, py::arg("queries").noconvert(), py::arg("min_score"), py::arg("limit"),
           py::arg("allow"), py::arg("threads"));

  py::class_<RowStore>(m, "RowStore", "Append-only rows with one writer and any number of readers.")
      .def(py::init(&make_store), py::arg("dim"), py::arg("metric"))
      .def("add", &write<&RowStore::add>, py::arg("ids").noconvert(), py::arg("vectors").noconvert(),
           py::arg("rules").noconvert())
      .def("add_automatic", &add_automatic, py::arg("vectors").noconvert(), py::arg("rules").noconvert())
      .def("upsert", &write<&RowStore::upsert>, py::arg("ids").noconvert(), py::arg("vectors").noconvert(),
           py::arg("rules").noconvert())
      .def("remove", &remove, py::arg("ids").noconvert())
      .def("find", &find, py::arg("ids").noconvert())
      .def("snapshot", [](const RowStore& store) { return std::const_pointer_cast<Snapshot>(store.snapshot()); });
}

}  // namespace evidex::bindings
