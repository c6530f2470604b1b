// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "bindings/arrays.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/register.hpp"
#include "bindings/searching.hpp"
#include "codecs/codec.hpp"
#include "index/row_store.hpp"
#include "kernels/dispatch.hpp"

namespace evidex::bindings {
namespace {

using index::RowStore;
using index::Snapshot;
using search::Bitmask;

using Reference = std::optional<Array<float>>;

std::unique_ptr<RowStore> make_store(std::size_t dim, int metric, int codec, bool prescan, const Reference& reference) {
  if (metric < 0 || static_cast<std::size_t>(metric) >= kernels::kMetrics.size()) {
    throw InvalidInput("metric: no metric has the number " + std::to_string(metric));
  }
  if (codec < 0 || static_cast<std::size_t>(codec) >= codecs::kCodecs.size()) {
    throw InvalidInput("codec: no codec has the number " + std::to_string(codec));
  }
  index::Storage storage{codecs::kCodecs[static_cast<std::size_t>(codec)].codec, prescan};
  if (reference) {
    const auto values = elements(*reference, "reference");
    if (values.size() != dim) throw InvalidInput("reference: expected one component for each dimension");
    storage.reference = std::make_shared<const std::vector<float>>(values.begin(), values.end());
  }
  return std::make_unique<RowStore>(dim, kernels::kMetrics[static_cast<std::size_t>(metric)], storage);
}

using Groups = std::optional<Array<std::int64_t>>;

index::Batch batch(const RowStore& store, std::span<const std::int64_t> ids, std::size_t n, const Array<float>& vectors,
                   const Array<std::uint32_t>& rules, const Groups& groups) {
  const Rows rows(vectors, store.snapshot()->dim, "vectors");
  const auto rule_of_row = elements(rules, "rules");
  const auto group_of_row = groups ? elements(*groups, "groups") : std::span<const std::int64_t>();
  if (rows.count != n || rule_of_row.size() != n || (groups && group_of_row.size() != n)) {
    throw InvalidInput("ids, vectors, rules and groups differ in length: " + std::to_string(n) + ", " +
                       std::to_string(rows.count) + ", " + std::to_string(rule_of_row.size()) + ", " +
                       std::to_string(group_of_row.size()));
  }
  return {ids, rows.data, rule_of_row, group_of_row};
}

// The arrays are alive and unshared copies or the caller's own for the whole call; the core reads
// them without the GIL and touches no Python object.
template <void (RowStore::*kWrite)(const index::Batch&, Stop&)>
void write(RowStore& store, const Array<std::int64_t>& ids, const Array<float>& vectors,
           const Array<std::uint32_t>& rules, const Groups& groups) {
  const auto given = elements(ids, "ids");
  const index::Batch rows = batch(store, given, given.size(), vectors, rules, groups);
  Stop stop = stop_on_signal();
  const py::gil_scoped_release unlocked;
  (store.*kWrite)(rows, stop);
}

std::int64_t add_automatic(RowStore& store, const Array<float>& vectors, const Array<std::uint32_t>& rules,
                           const Groups& groups) {
  const index::Batch rows = batch(store, {}, static_cast<std::size_t>(rules.size()), vectors, rules, groups);
  Stop stop = stop_on_signal();
  const py::gil_scoped_release unlocked;
  return store.add_automatic(rows, stop);
}

void remove(RowStore& store, const Array<std::int64_t>& ids) {
  const auto given = elements(ids, "ids");
  const py::gil_scoped_release unlocked;
  store.remove(given);
}

void set_rule(RowStore& store, const Array<std::int64_t>& groups, std::uint32_t rule) {
  const auto given = elements(groups, "groups");
  const py::gil_scoped_release unlocked;
  store.set_rule(given, rule);
}

std::shared_ptr<index::Segment> encode(const RowStore& store, const Array<std::int64_t>& ids,
                                       const Array<std::int64_t>& groups, const Array<float>& vectors) {
  const std::shared_ptr<const Snapshot> like = store.snapshot();
  const Rows rows(vectors, like->dim, "vectors");
  const auto given = elements(ids, "ids");
  const auto of = elements(groups, "groups");
  if (rows.count == 0 || given.size() != rows.count || of.size() != rows.count) {
    throw InvalidInput("ids, groups and vectors differ in length, or there are none");
  }
  Stop stop = stop_on_signal();
  const py::gil_scoped_release unlocked;
  return std::make_shared<index::Segment>(index::encode(*like, given, of, rows.data, stop));
}

std::size_t attach(RowStore& store, const index::Segment& segment, const Array<std::uint32_t>& rules) {
  const auto given = elements(rules, "rules");
  Stop stop = stop_on_signal();
  const py::gil_scoped_release unlocked;
  return store.attach(segment, given, stop);
}

void mark(RowStore& store, const Array<std::int64_t>& first, const Array<std::int64_t>& count, bool dead) {
  const auto begins = elements(first, "first");
  const auto counts = elements(count, "count");
  if (begins.size() != counts.size()) throw InvalidInput("first and count differ in length");
  std::vector<index::Range> ranges;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    if (begins[i] < 0 || counts[i] < 0) throw InvalidInput("rows: there are none below 0");
    ranges.push_back({static_cast<std::size_t>(begins[i]), static_cast<std::size_t>(counts[i])});
  }
  const py::gil_scoped_release unlocked;
  store.mark(ranges, dead);
}

void set_known_rules(RowStore& store, const Array<std::int64_t>& groups, const Array<std::uint32_t>& rules) {
  const auto given = elements(groups, "groups");
  const auto numbers = elements(rules, "rules");
  if (given.size() != numbers.size()) throw InvalidInput("groups and rules differ in length");
  const py::gil_scoped_release unlocked;
  store.set_known_rules(given, numbers);
}

py::array_t<std::int64_t> rows_in(const RowStore& store, const Snapshot& snapshot, const Array<std::int64_t>& ids) {
  const auto given = elements(ids, "ids");
  std::vector<std::int64_t> rows;
  {
    const py::gil_scoped_release unlocked;
    rows = store.rows_in(snapshot, given);
  }
  return to_array(std::move(rows));
}

void optimize(RowStore& store, const Array<std::uint32_t>& rank_of_rule) {
  const auto ranks = elements(rank_of_rule, "rank_of_rule");
  Stop stop = stop_on_signal();
  const py::gil_scoped_release unlocked;
  store.optimize(ranks, stop);
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

Answer search_exactly(const Snapshot& snapshot, const Array<float>& queries, std::size_t k, const Masks& masks,
                      const Array<std::uint32_t>& mask_of, unsigned threads, bool grouped) {
  return search_best(snapshot, queries, k, masks, mask_of, threads, grouped, nullptr);
}

/// The number of a row of this snapshot.
std::size_t row_number(const Snapshot& snapshot, std::int64_t number) {
  if (number < 0 || !snapshot.has(static_cast<std::size_t>(number))) {
    throw InvalidInput("numbers: no row " + std::to_string(number) + " in this snapshot");
  }
  return static_cast<std::size_t>(number);
}

/// Which of these rows the mask permits and nobody removed.
py::array_t<bool> readable(const Snapshot& snapshot, const Bitmask& mask, const Array<std::int64_t>& numbers) {
  const auto rows = elements(numbers, "numbers");
  py::array_t<bool> out(static_cast<py::ssize_t>(rows.size()));
  bool* const target = out.mutable_data();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t row = row_number(snapshot, rows[i]);
    target[i] = mask.test(row) && !snapshot.is_dead(row);
  }
  return out;
}

std::shared_ptr<index::Segment> gather(const Snapshot& snapshot, const Array<std::int64_t>& numbers) {
  const auto rows = elements(numbers, "numbers");
  for (const std::int64_t number : rows) (void)row_number(snapshot, number);
  Stop stop = stop_on_signal();
  const py::gil_scoped_release unlocked;
  return std::make_shared<index::Segment>(index::gather(snapshot, rows, stop));
}

/// The rules of rows' owners, of now.
py::array_t<std::uint32_t> rules_of(const Snapshot& snapshot, const Array<std::int64_t>& numbers) {
  std::vector<std::uint32_t> found;
  const auto rows = elements(numbers, "numbers");
  found.reserve(rows.size());
  snapshot.owners->read([&](std::span<const std::uint32_t> rules) {
    for (const std::int64_t number : rows) found.push_back(rules[snapshot.owner(row_number(snapshot, number))]);
  });
  return to_array(std::move(found));
}

py::array_t<std::int64_t> ids_of(const Snapshot& snapshot, const Array<std::int64_t>& numbers) {
  std::vector<std::int64_t> ids;
  for (const std::int64_t number : elements(numbers, "numbers"))
    ids.push_back(snapshot.id(row_number(snapshot, number)));
  return to_array(std::move(ids));
}

py::array_t<float> vectors(const Snapshot& snapshot, const Array<std::int64_t>& numbers) {
  const auto rows = elements(numbers, "numbers");
  py::array_t<float> out({static_cast<py::ssize_t>(rows.size()), static_cast<py::ssize_t>(snapshot.dim)});
  float* target = out.mutable_data();
  for (const std::int64_t number : rows) {
    const std::size_t row = row_number(snapshot, number);
    const auto [c, at] = snapshot.place(row);
    const float* vector = snapshot.vector(kernels::active(), c, at, target);
    if (vector != target) std::copy_n(vector, snapshot.dim, target);
    target += snapshot.dim;
  }
  return out;
}

}  // namespace

void register_row_store(py::module_& m) {
  py::class_<index::MaskPlan>(m, "MaskPlan", "How the queries of one mask ran.")
      .def_readonly("permitted", &index::MaskPlan::permitted)
      .def_readonly("prescan", &index::MaskPlan::prescan)
      .def_readonly("lookup", &index::MaskPlan::lookup);
  py::class_<Answer>(m, "Answer", "Arrays [nq, width] and what is known of how they were found.")
      .def_readonly("ids", &Answer::ids)
      .def_readonly("scores", &Answer::scores)
      .def_readonly("groups", &Answer::groups)
      .def_readonly("counts", &Answer::counts)
      .def_readonly("certified", &Answer::certified)
      .def_readonly("rows", &Answer::rows)
      .def_property_readonly("masks", [](const Answer& answer) { return answer.plan.masks; })
      .def_property_readonly("workers", [](const Answer& answer) { return answer.plan.workers; })
      .def_property_readonly("abandoned", [](const Answer& answer) { return answer.trace.abandoned; });

  py::class_<Snapshot, std::shared_ptr<Snapshot>>(m, "Snapshot", "An immutable view of a row store.")
      .def_readonly("layout", &Snapshot::layout)
      .def_readonly("generation", &Snapshot::generation)
      .def_readonly("rows", &Snapshot::rows)
      .def_property_readonly("live_rows", &Snapshot::live_rows)
      .def_property_readonly("next_row", &Snapshot::next_row)
      .def("live", &Snapshot::live)
      .def(
          "grant",
          [](const Snapshot& s, const Array<std::uint8_t>& allowed) { return s.grant(elements(allowed, "allowed")); },
          py::arg("allowed").noconvert())
      .def_property_readonly("reference",
                             [](const Snapshot& s) -> std::optional<py::array_t<float>> {
                               if (!s.reference) return std::nullopt;
                               return to_array(std::vector<float>(*s.reference));
                             })
      .def_property_readonly("rights_generation", [](const Snapshot& s) { return s.owners->generation(); })
      .def("count", &Snapshot::count_permitted, py::arg("mask"))
      .def(
          "ids", [](const Snapshot& s, const Bitmask& mask) { return to_array(s.permitted_ids(mask)); },
          py::arg("mask"))
      .def("readable", &readable, py::arg("mask"), py::arg("numbers").noconvert())
      .def("ids_of", &ids_of, py::arg("numbers").noconvert())
      .def("vectors", &vectors, py::arg("numbers").noconvert())
      .def("gather", &gather, py::arg("numbers").noconvert())
      .def("rules_of", &rules_of, py::arg("numbers").noconvert())
      .def("search", &search_exactly, py::arg("queries").noconvert(), py::arg("k"), py::arg("masks"),
           py::arg("mask_of").noconvert(), py::arg("threads"), py::arg("grouped"))
      .def("radius", &search_radius, py::arg("queries").noconvert(), py::arg("min_score"), py::arg("limit"),
           py::arg("masks"), py::arg("mask_of").noconvert(), py::arg("threads"));

  py::class_<RowStore>(m, "RowStore", "Append-only rows with one writer and any number of readers.")
      .def(py::init(&make_store), py::arg("dim"), py::arg("metric"), py::arg("codec"), py::arg("prescan"),
           py::arg("reference") = py::none())
      .def("add", &write<&RowStore::add>, py::arg("ids").noconvert(), py::arg("vectors").noconvert(),
           py::arg("rules").noconvert(), py::arg("groups").noconvert() = py::none())
      .def("add_automatic", &add_automatic, py::arg("vectors").noconvert(), py::arg("rules").noconvert(),
           py::arg("groups").noconvert() = py::none())
      .def("upsert", &write<&RowStore::upsert>, py::arg("ids").noconvert(), py::arg("vectors").noconvert(),
           py::arg("rules").noconvert(), py::arg("groups").noconvert() = py::none())
      .def("encode", &encode, py::arg("ids").noconvert(), py::arg("groups").noconvert(), py::arg("vectors").noconvert())
      .def("attach", &attach, py::arg("segment"), py::arg("rules").noconvert())
      .def("mark", &mark, py::arg("first").noconvert(), py::arg("count").noconvert(), py::arg("dead"))
      .def("set_known_rules", &set_known_rules, py::arg("groups").noconvert(), py::arg("rules").noconvert())
      .def("skip_ids", &RowStore::skip_ids, py::arg("next"))
      .def_property_readonly("next_id", &RowStore::next_id)
      .def("rows_in", &rows_in, py::arg("snapshot"), py::arg("ids").noconvert())
      .def("remove", &remove, py::arg("ids").noconvert())
      .def("set_rule", &set_rule, py::arg("groups").noconvert(), py::arg("rule"))
      .def("optimize", &optimize, py::arg("rank_of_rule").noconvert())
      .def("find", &find, py::arg("ids").noconvert())
      .def("snapshot", [](const RowStore& store) { return std::const_pointer_cast<Snapshot>(store.snapshot()); });
}

}  // namespace evidex::bindings
