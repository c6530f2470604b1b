// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_budget.hpp"
#include "base/mapped_file.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/register.hpp"
#include "bindings/searching.hpp"
#include "index/sparse_search.hpp"
#include "postings/making.hpp"

namespace evidex::bindings {
namespace {

using index::SparseCounts;
using index::SparseView;
using postings::Postings;

std::string_view utf8(py::handle text) {
  Py_ssize_t bytes = 0;
  if (!PyUnicode_Check(text.ptr())) throw InvalidInput("terms: expected str");
  const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &bytes);
  if (data == nullptr) throw py::error_already_set();
  return {data, static_cast<std::size_t>(bytes)};
}

/// Terms copied out of Python's objects, so that a call may use them without the GIL.
class Terms {
 public:
  void add(std::string_view term) {
    bytes_.insert(bytes_.end(), term.begin(), term.end());
    ends_.push_back(bytes_.size());
  }

  std::vector<std::string_view> views() const {
    std::vector<std::string_view> found;
    std::size_t begin = 0;
    for (const std::size_t end : ends_) {
      found.emplace_back(bytes_.data() + begin, end - begin);
      begin = end;
    }
    return found;
  }

 private:
  std::vector<char> bytes_;
  std::vector<std::size_t> ends_;
};

Terms terms_of(const py::sequence& terms) {
  Terms found;
  for (const py::handle term : terms) found.add(utf8(term));
  return found;
}

std::shared_ptr<Postings> made(std::shared_ptr<const Postings> postings) {
  return std::const_pointer_cast<Postings>(std::move(postings));
}

std::shared_ptr<Postings> of_terms(const py::sequence& terms, const Array<std::int32_t>& numbers,
                                   const Array<std::int32_t>& weights, const Array<std::int64_t>& starts) {
  const Terms kept = terms_of(terms);
  const auto values = elements(weights, "weights");
  const postings::Documents documents{elements(starts, "starts"),
                                      elements(numbers, "numbers"),
                                      {reinterpret_cast<const std::uint32_t*>(values.data()), values.size()}};
  Stop stop = stop_on_signal();
  const py::gil_scoped_release unlocked;
  return made(postings::of_terms(kept.views(), documents, stop));
}

std::shared_ptr<Postings> of_vectors(const Array<std::int64_t>& indices, const Array<float>& values,
                                     const Array<std::int64_t>& starts) {
  const auto numbers = elements(indices, "indices");
  const auto weights = elements(values, "values");
  const auto begins = elements(starts, "starts");
  Stop stop = stop_on_signal();
  const py::gil_scoped_release unlocked;
  return made(postings::of_vectors(numbers, weights, begins, stop));
}

using Parts = std::vector<std::shared_ptr<Postings>>;

std::shared_ptr<Postings> gathered(const Parts& parts, const Array<std::int64_t>& part, const Array<std::int64_t>& row,
                                   bool weighted) {
  const auto of = elements(part, "part");
  const auto rows = elements(row, "row");
  if (of.size() != rows.size()) throw InvalidInput("part and row differ in length");
  std::vector<const Postings*> from;
  for (const auto& one : parts) from.push_back(one.get());
  std::vector<postings::Source> sources;
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (of[i] < 0 || static_cast<std::size_t>(of[i]) >= parts.size() || rows[i] < 0 ||
        static_cast<std::size_t>(rows[i]) >= postings::kMostRows) {
      throw InvalidInput("rows: row " + std::to_string(rows[i]) + " of part " + std::to_string(of[i]) +
                         " is not there");
    }
    sources.push_back({static_cast<std::uint32_t>(of[i]), static_cast<std::uint32_t>(rows[i])});
  }
  Stop stop = stop_on_signal();
  const py::gil_scoped_release unlocked;
  return made(postings::gathered(from, sources, weighted, stop));
}

/// A read-only array over the bytes, which it keeps alive.
py::array_t<std::uint8_t> bytes_of(const std::shared_ptr<Postings>& postings) {
  const auto* owner = new std::shared_ptr<const Postings>(postings);
  const py::capsule keeper(owner, [](void* p) { delete static_cast<std::shared_ptr<const Postings>*>(p); });
  const auto bytes = postings->bytes();
  py::array_t<std::uint8_t> array(static_cast<py::ssize_t>(bytes.size()),
                                  reinterpret_cast<const std::uint8_t*>(bytes.data()), keeper);
  py::detail::array_proxy(array.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return array;
}

std::shared_ptr<Postings> mapped(const std::string& path, std::size_t offset, std::size_t size) {
  auto file = std::make_shared<const MappedFile>(path, offset + size);
  const std::span<const std::byte> bytes = file->bytes();
  return std::make_shared<Postings>(bytes.subspan(offset), std::move(file), path);
}

py::dict sizes(const Postings& postings) {
  const postings::Sizes of = postings.sizes();
  py::dict found;
  found["lists"] = of.lists;
  found["terms"] = of.terms;
  found["lengths"] = of.lengths;
  return found;
}

std::shared_ptr<SparseView> view_of(const std::shared_ptr<index::Snapshot>& snapshot, const Parts& parts,
                                    const Array<std::int64_t>& begins) {
  const auto first = elements(begins, "begins");
  if (first.size() != parts.size()) throw InvalidInput("begins: expected one for each of the postings");
  std::vector<index::SparsePart> kept;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (first[i] < 0) throw InvalidInput("begins: expected row numbers, got " + std::to_string(first[i]));
    kept.push_back({parts[i], static_cast<std::size_t>(first[i])});
  }
  return std::make_shared<SparseView>(snapshot, std::move(kept));
}

std::shared_ptr<SparseCounts> counts(const SparseView& view, const search::Bitmask& mask, const SparseCounts* before) {
  const py::gil_scoped_release unlocked;
  return std::make_shared<SparseCounts>(view, mask, before);
}

Answer run(const SparseView& view, const SparseCounts* counts, const index::SparseRanking& ranking,
           index::SparseQuery query, const Masks& masks, const Array<std::uint32_t>& mask_of) {
  query.masks = masks;
  query.mask_of = elements(mask_of, "mask_of");
  require_masks(masks, query.mask_of, query.count());
  if (query.threads == 0) query.threads = default_threads();
  Answer answer;
  answer.plan = index::plan(view, query);
  answer.certified = py::array_t<bool>(static_cast<py::ssize_t>(query.count()));
  std::fill_n(answer.certified.mutable_data(), query.count(), true);
  fill(answer, query.count(), query.k, [&](const index::Sink& sink) {
    Stop stop = stop_on_signal();
    const py::gil_scoped_release unlocked;
    index::search(view, counts, ranking, query, answer.plan, sink, stop);
  });
  return answer;
}

Answer search(const SparseView& view, const SparseCounts& counts, int ranking, double k1, double b,
              const py::sequence& queries, std::size_t k, const Masks& masks, const Array<std::uint32_t>& mask_of,
              unsigned threads, bool grouped) {
  if (view.weighted) throw InvalidInput("queries: these rows are vectors");
  if (counts.parts() != view.parts.size()) throw InvalidInput("counts: they are of another view");
  Terms terms;
  std::vector<double> weights;
  std::vector<std::size_t> starts{0};
  for (const py::handle query : queries) {
    if (!PyDict_Check(query.ptr())) throw InvalidInput("queries: expected dicts");
    for (const auto& [term, weight] : py::reinterpret_borrow<py::dict>(query)) {
      terms.add(utf8(term));
      weights.push_back(static_cast<double>(weight.cast<std::int64_t>()));
    }
    starts.push_back(weights.size());
  }
  const std::vector<std::string_view> views = terms.views();
  return run(view, &counts, {static_cast<index::Ranking>(ranking), k1, b},
             {views, weights, starts, k, {}, {}, threads, grouped}, masks, mask_of);
}

Answer search_vectors(const SparseView& view, const Array<std::int64_t>& indices, const Array<float>& values,
                      const Array<std::int64_t>& starts, std::size_t k, const Masks& masks,
                      const Array<std::uint32_t>& mask_of, unsigned threads, bool grouped) {
  if (!view.weighted && !view.parts.empty()) throw InvalidInput("queries: these rows have words");
  const auto given = elements(indices, "indices");
  const auto given_values = elements(values, "values");
  const auto begins = elements(starts, "starts");
  if (given_values.size() != given.size() || begins.empty() || begins.front() != 0 ||
      begins.back() != static_cast<std::int64_t>(given.size()) || !std::is_sorted(begins.begin(), begins.end())) {
    throw InvalidInput("starts: expected numbers that ascend from 0 to that of the values");
  }
  std::vector<postings::NumberTerm> numbers;
  numbers.reserve(given.size());
  for (const std::int64_t index : given) {
    if (index < 0 || index > 0xFFFFFFFF) throw InvalidInput("indices: out of range");
    numbers.emplace_back(static_cast<std::uint32_t>(index));
  }
  std::vector<std::string_view> views;
  views.reserve(numbers.size());
  for (const postings::NumberTerm& number : numbers) views.push_back(number.view());
  const std::vector<double> weights(given_values.begin(), given_values.end());
  const std::vector<std::size_t> firsts(begins.begin(), begins.end());
  return run(view, nullptr, {}, {views, weights, firsts, k, {}, {}, threads, grouped}, masks, mask_of);
}

}  // namespace

void register_sparse(py::module_& m) {
  py::class_<Postings, std::shared_ptr<Postings>>(m, "Postings", "Which rows have which terms, and how much of each.")
      .def_static("of_terms", &of_terms, py::arg("terms"), py::arg("numbers").noconvert(),
                  py::arg("weights").noconvert(), py::arg("starts").noconvert())
      .def_static("of_vectors", &of_vectors, py::arg("indices").noconvert(), py::arg("values").noconvert(),
                  py::arg("starts").noconvert())
      .def_static("gathered", &gathered, py::arg("parts"), py::arg("part").noconvert(), py::arg("row").noconvert(),
                  py::arg("weighted"))
      .def_static("mapped", &mapped, py::arg("path"), py::arg("offset"), py::arg("size"))
      .def_property_readonly("rows", &Postings::rows)
      .def_property_readonly("entries", &Postings::entries)
      .def_property_readonly("terms", &Postings::terms)
      .def_property_readonly("weighted", &Postings::weighted)
      .def_property_readonly("sizes", &sizes)
      .def("bytes", &bytes_of);
  py::class_<SparseCounts, std::shared_ptr<SparseCounts>>(m, "SparseCounts", "Statistics of the rows of one scope.")
      .def_property_readonly("rows", &SparseCounts::rows)
      .def_property_readonly("length", &SparseCounts::length);
  py::class_<SparseView, std::shared_ptr<SparseView>>(m, "SparseView", "A snapshot and the postings of its rows.")
      .def(py::init(&view_of), py::arg("snapshot"), py::arg("postings"), py::arg("begins").noconvert())
      .def("counts", &counts, py::arg("mask"), py::arg("before") = py::none())
      .def("search", &search, py::arg("counts"), py::arg("ranking"), py::arg("k1"), py::arg("b"), py::arg("queries"),
           py::arg("k"), py::arg("masks"), py::arg("mask_of").noconvert(), py::arg("threads"), py::arg("grouped"))
      .def("search_vectors", &search_vectors, py::arg("indices").noconvert(), py::arg("values").noconvert(),
           py::arg("starts").noconvert(), py::arg("k"), py::arg("masks"), py::arg("mask_of").noconvert(),
           py::arg("threads"), py::arg("grouped"));
}

}  // namespace evidex::bindings
