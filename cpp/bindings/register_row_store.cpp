// SPDX-License-Identifier: Apache-2.0
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

/// (ids [nq, width], scores [nq, width], permitted, returned, workers).
py::tuple search(const Snapshot& snapshot, const Array<float>& queries, std::size_t k, const Bitmask& allow,
                 unsigned threads) {
  const Rows rows(queries, snapshot.dim, "queries");
  const index::Query query{rows.data, rows.count, k, allow, threads == 0 ? default_threads() : threads};
  const index::Plan planned = index::plan(snapshot, query);
  // Below this the caller gets the width it asked for; above, padding would cost real memory.
  constexpr std::size_t kWidestPadding = 65536;
  const std::size_t width = k <= kWidestPadding ? k : planned.returned;
  const std::vector<py::ssize_t> shape{static_cast<py::ssize_t>(rows.count), static_cast<py::ssize_t>(width)};
  py::array_t<std::int64_t> ids(shape);
  py::array_t<float> scores(shape);
  const index::Output output{ids.mutable_data(), scores.mutable_data(), width};
  Stop stop = stop_on_signal();
  {
    const py::gil_scoped_release unlocked;
    index::search(snapshot, query, planned, output, stop);
  }
  return py::make_tuple(ids, scores, planned.permitted, planned.returned, planned.workers);
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
      .def("search", &search, py::arg("queries").noconvert(), py::arg("k"), py::arg("allow"), py::arg("threads"));

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
