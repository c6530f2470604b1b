// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <tuple>

#include "base/cpu_budget.hpp"
#include "base/mapped_file.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/register.hpp"
#include "bindings/searching.hpp"
#include "codecs/lookup_training.hpp"
#include "index/lookup_codes.hpp"

namespace evidex::bindings {
namespace {

using index::LookupCodes;
using index::Snapshot;
using search::Bitmask;

using Codes = std::shared_ptr<LookupCodes>;

codecs::LookupKind kind_of(int number) {
  if (number < 0 || static_cast<std::size_t>(number) >= codecs::kLookupKinds.size()) {
    throw InvalidInput("kind: no codes have the number " + std::to_string(number));
  }
  return static_cast<codecs::LookupKind>(number);
}

Codes train(const Snapshot& snapshot, int kind, std::uint64_t seed) {
  const codecs::LookupKind chosen = kind_of(kind);
  Stop stop = stop_on_signal();
  const py::gil_scoped_release unlocked;
  auto model = std::make_shared<codecs::LookupModel>(index::train(snapshot, chosen, seed, stop));
  return std::make_shared<LookupCodes>(std::move(model), snapshot.layout);
}

/// Files with codes and with facts of so many rows.
using Files = std::tuple<std::string, std::string, std::size_t>;

template <class T>
std::span<T> elements_of(const MappedFile& file, std::size_t offset, std::size_t from, std::size_t count) {
  return {reinterpret_cast<T*>(file.bytes().data() + offset) + from, count};
}

Codes mapped(const Snapshot& snapshot, int kind, std::uint64_t seed, const Array<float>& reference,
             const Array<float>& centroids, const std::vector<Files>& files, std::size_t offset,
             const std::tuple<std::size_t, double, double>& fit) {
  using index::LookupPiece;
  auto model = std::make_shared<codecs::LookupModel>(codecs::known_lookup(
      kind_of(kind), snapshot.metric, elements(reference, "reference"), elements(centroids, "centroids"), seed));
  if (model->dim != snapshot.dim) throw InvalidInput("reference: expected one component for each dimension");
  constexpr std::size_t kRows = LookupPiece::kWords * kernels::kLookupRows;
  const std::size_t block = model->positions * kernels::kLookupBytes;
  index::LookupPieces pieces;
  std::size_t done = 0;
  for (const auto& [codes_path, facts_path, rows] : files) {
    if (offset % 64 != 0 || done % kRows != 0 || rows == 0 || rows > snapshot.rows - done) {
      throw InvalidInput("files: no such number of rows");
    }
    const std::size_t words = rows / kernels::kLookupRows + (rows % kernels::kLookupRows != 0);
    const auto codes = std::make_shared<const MappedFile>(codes_path, offset + words * block);
    const auto facts = std::make_shared<const MappedFile>(
        facts_path, offset + words * kernels::kLookupRows * sizeof(kernels::LookupFacts));
    for (std::size_t at = 0; at < words; at += LookupPiece::kWords) {
      const std::size_t count = std::min(LookupPiece::kWords, words - at);
      pieces.push_back(std::make_shared<LookupPiece>(
          elements_of<std::uint8_t>(*codes, offset, at * block, count * block),
          elements_of<kernels::LookupFacts>(*facts, offset, at * kernels::kLookupRows, count * kernels::kLookupRows),
          std::vector<index::Keeper>{codes, facts}));
    }
    done += rows;
  }
  return std::make_shared<LookupCodes>(std::move(model), snapshot.layout, std::move(pieces), done,
                                       index::MeanFit{std::get<0>(fit), std::get<1>(fit), std::get<2>(fit)});
}

py::tuple gather(const LookupCodes& codes, const Array<std::int64_t>& numbers) {
  const index::LookupView view = codes.view();
  const auto rows = elements(numbers, "numbers");
  const auto outside = [&](std::int64_t row) { return row < 0 || static_cast<std::size_t>(row) >= view.rows; };
  if (std::any_of(rows.begin(), rows.end(), outside)) throw InvalidInput("numbers: a row without a code");
  const auto words = static_cast<py::ssize_t>((rows.size() + kernels::kLookupRows - 1) / kernels::kLookupRows);
  py::array_t<std::uint8_t> blocks(
      {words, static_cast<py::ssize_t>(view.model->positions), static_cast<py::ssize_t>(kernels::kLookupBytes)});
  py::array_t<kernels::LookupFacts> facts({words, static_cast<py::ssize_t>(kernels::kLookupRows)});
  {
    std::uint8_t* to_blocks = blocks.mutable_data();
    kernels::LookupFacts* to_facts = facts.mutable_data();
    Stop stop = stop_on_signal();
    const py::gil_scoped_release unlocked;
    index::gather(view, rows, to_blocks, to_facts, stop);
  }
  return py::make_tuple(blocks, facts);
}

py::tuple model(const LookupCodes& codes) {
  const codecs::LookupModel& of = *codes.model();
  const bool learnt = of.kind == codecs::LookupKind::pq4;
  return py::make_tuple(to_array(std::vector<float>(of.reference)),
                        to_array(learnt ? std::vector<float>(of.centroids) : std::vector<float>()));
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
      .def_static("mapped", &mapped, py::arg("snapshot"), py::arg("kind"), py::arg("seed"),
                  py::arg("reference").noconvert(), py::arg("centroids").noconvert(), py::arg("files"),
                  py::arg("offset"), py::arg("fit"))
      .def("gather", &gather, py::arg("numbers").noconvert())
      .def("again", &again, py::arg("snapshot"))
      .def("extend", &extend, py::arg("snapshot"))
      .def("search", &search, py::arg("snapshot"), py::arg("queries").noconvert(), py::arg("k"), py::arg("masks"),
           py::arg("mask_of").noconvert(), py::arg("threads"), py::arg("grouped"), py::arg("candidates"),
           py::arg("forced"), py::arg("costs"))
      .def("best_by_estimate", &best_by_estimate, py::arg("snapshot"), py::arg("queries").noconvert(), py::arg("most"),
           py::arg("mask"))
      .def_property_readonly("model", &model)
      .def_property_readonly("positions", [](const LookupCodes& codes) { return codes.model()->positions; })
      .def_property_readonly("layout", [](const LookupCodes& codes) { return codes.view().layout; })
      .def_property_readonly("rows", [](const LookupCodes& codes) { return codes.view().rows; })
      .def_property_readonly(
          "row_bytes",
          [](const LookupCodes& codes) { return codes.model()->positions / 2 + sizeof(kernels::LookupFacts); })
      .def_property_readonly("fit", &fit);
}

}  // namespace evidex::bindings
