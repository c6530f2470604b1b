// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/cpu_budget.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/register.hpp"
#include "bindings/searching.hpp"
#include "index/lookup_codes.hpp"

namespace evidex::bindings {
namespace {

using index::LookupCodes;
using index::Snapshot;
using search::Bitmask;

using Codes = std::shared_ptr<LookupCodes>;

Codes train(const Snapshot& snapshot, int kind, std::uint64_t seed) {
  if (kind < 0 || static_cast<std::size_t>(kind) >= codecs::kLookupKinds.size()) {
    throw InvalidInput("kind: no codes have the number " + std::to_string(kind));
  }
  Stop stop = stop_on_signal();
  const py::gil_scoped_release unlocked;
  auto model =
      std::make_shared<codecs::LookupModel>(index::train(snapshot, static_cast<codecs::LookupKind>(kind), seed, stop));
  return std::make_shared<LookupCodes>(std::move(model), snapshot.layout);
}

/// Of the same model, for another layout.
Codes again(const LookupCodes& codes, const Snapshot& snapshot) {
  return std::make_shared<LookupCodes>(codes.model(), snapshot.layout);
}

void extend(LookupCodes& codes, const Snapshot& snapshot) {
  Stop stop = stop_on_signal();
  const py::gil_scoped_release unlocked;
  codes.extend(snapshot, stop);
}

Answer search(const LookupCodes& codes, const Snapshot& snapshot, const Array<float>& queries, std::size_t k,
              const Masks& masks, const Array<std::uint32_t>& mask_of, unsigned threads, bool grouped,
              std::size_t candidates, bool forced, const std::array<double, 6>& costs) {
  const index::Approximate how{
      codes.view(), std::max(candidates, k), forced, {costs[0], costs[1], costs[2], costs[3], costs[4], costs[5]}};
  return search_best(snapshot, queries, k, masks, mask_of, threads, grouped, &how);
}

py::array_t<std::int64_t> best_by_estimate(const LookupCodes& codes, const Snapshot& snapshot,
                                           const Array<float>& queries, std::size_t most, const Bitmask& mask) {
  const Rows rows(queries, snapshot.dim, "queries");
  std::vector<std::vector<std::int64_t>> found;
  {
    Stop stop = stop_on_signal();
    const py::gil_scoped_release unlocked;
    found = index::best_by_estimate(snapshot, rows.data, rows.count, mask, codes.view(), most, stop);
  }
  py::array_t<std::int64_t> out({static_cast<py::ssize_t>(rows.count), static_cast<py::ssize_t>(most)});
  std::int64_t* target = out.mutable_data();
  std::fill_n(target, rows.count * most, std::int64_t{-1});
  for (std::size_t q = 0; q < found.size(); ++q) std::copy(found[q].begin(), found[q].end(), target + q * most);
  return out;
}

py::tuple fit(const LookupCodes& codes) {
  const index::MeanFit found = codes.fit();
  return py::make_tuple(found.rows, found.square, found.cosine);
}

}  // namespace

void register_lookup(py::module_& m) {
  m.def(
      "lookup_kinds", [] { return codecs::kLookupKinds; }, "Names of the 4-bit codes, in the order of their numbers.");
  py::class_<LookupCodes, Codes>(m, "LookupCodes", "4-bit codes beside the rows of one layout.")
      .def_static("train", &train, py::arg("snapshot"), py::arg("kind"), py::arg("seed"))
      .def("again", &again, py::arg("snapshot"))
      .def("extend", &extend, py::arg("snapshot"))
      .def("search", &search, py::arg("snapshot"), py::arg("queries").noconvert(), py::arg("k"), py::arg("masks"),
           py::arg("mask_of").noconvert(), py::arg("threads"), py::arg("grouped"), py::arg("candidates"),
           py::arg("forced"), py::arg("costs"))
      .def("best_by_estimate", &best_by_estimate, py::arg("snapshot"), py::arg("queries").noconvert(), py::arg("most"),
           py::arg("mask"))
      .def_property_readonly("rows", [](const LookupCodes& codes) { return codes.view().words * kernels::kLookupRows; })
      .def_property_readonly(
          "row_bytes",
          [](const LookupCodes& codes) { return codes.model()->positions / 2 + sizeof(kernels::LookupFacts); })
      .def_property_readonly("fit", &fit);
}

}  // namespace evidex::bindings
