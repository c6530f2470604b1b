// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/mapped_file.hpp"
#include "bindings/arrays.hpp"
#include "bindings/register.hpp"
#include "codecs/codec.hpp"
#include "index/segment.hpp"

namespace evidex::bindings {
namespace {

using index::Segment;
using Shape = std::vector<py::ssize_t>;

/// The elements of files behind headers of the same length, kept alive by what uses them.
class Files {
 public:
  Files(const std::map<std::string, std::string>& paths, std::size_t offset) : paths_(paths), offset_(offset) {}

  bool has(const std::string& name) const { return paths_.contains(name); }

  template <class T>
  std::span<T> map(const std::string& name, std::size_t count) {
    if (!has(name)) throw InvalidInput("files: no " + name);
    const auto file = std::make_shared<const MappedFile>(paths_.at(name), offset_ + count * sizeof(T));
    keepers.push_back(file);
    return {reinterpret_cast<T*>(file->bytes().data() + offset_), count};
  }

  std::vector<index::Keeper> keepers;

 private:
  const std::map<std::string, std::string>& paths_;
  std::size_t offset_;
};

std::shared_ptr<Segment> mapped(std::size_t dim, int codec, std::size_t rows,
                                const std::map<std::string, std::string>& paths, std::size_t offset,
                                const std::optional<Array<float>>& reference) {
  const codecs::CodecFacts& facts = codecs::kCodecs.at(static_cast<std::size_t>(codec));
  constexpr std::size_t kMost = std::size_t{1} << 40;  // of components: products below cannot overflow
  if (rows == 0 || offset % 64 != 0 || offset > kMost || dim > kMost / rows)
    throw InvalidInput("segment: no such size");
  Files files(paths, offset);
  auto segment = std::make_shared<Segment>(Segment{rows, dim, facts.codec, {}, {}, {}});
  const std::size_t row_bytes = dim * facts.component_bytes;
  const auto vectors = row_bytes == 0 ? std::span<std::byte>() : files.map<std::byte>("vectors", rows * row_bytes);
  const auto ids = files.map<std::int64_t>("ids", rows);
  const auto groups = files.map<std::int64_t>("groups", rows);
  segment->chunk = std::make_shared<index::Chunk>(vectors, ids, groups, files.keepers);
  if (!reference) return segment;
  const auto values = elements(*reference, "reference");
  if (values.size() != dim) throw InvalidInput("reference: expected one component for each dimension");
  segment->reference = std::make_shared<const std::vector<float>>(values.begin(), values.end());
  const std::size_t bytes = codecs::plane_bytes(dim);
  const auto row_facts = files.map<kernels::RowFacts>("facts", 2 * rows);
  const auto high = files.map<std::uint8_t>("high", rows * bytes);
  const auto low = files.map<std::uint8_t>("low", rows * bytes);
  segment->codes = std::make_shared<index::CodeChunk>(row_facts, high, low, files.keepers);
  return segment;
}

/// A read-only array over memory of the segment, which it keeps alive.
py::array view(const std::shared_ptr<Segment>& segment, const py::dtype& type, const Shape& shape, const void* data) {
  const auto* owner = new std::shared_ptr<const Segment>(segment);
  const py::capsule keeper(owner, [](void* p) { delete static_cast<std::shared_ptr<const Segment>*>(p); });
  py::array array(type, shape, Shape{}, data, keeper);
  py::detail::array_proxy(array.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return array;
}

py::dict arrays(const std::shared_ptr<Segment>& segment) {
  const auto n = static_cast<py::ssize_t>(segment->rows);
  const auto dim = static_cast<py::ssize_t>(segment->dim);
  const index::Chunk& chunk = *segment->chunk;
  py::dict found;
  found["ids"] = view(segment, py::dtype::of<std::int64_t>(), {n}, chunk.ids.data());
  found["groups"] = view(segment, py::dtype::of<std::int64_t>(), {n}, chunk.groups.data());
  if (segment->codec != codecs::Codec::int8 && dim > 0) {
    const py::dtype type(segment->codec == codecs::Codec::float16 ? "float16" : "float32");
    found["vectors"] = view(segment, type, {n, dim}, chunk.vectors.data());
  }
  if (segment->codes) {
    const auto bytes = static_cast<py::ssize_t>(codecs::plane_bytes(segment->dim));
    const index::CodeChunk& codes = *segment->codes;
    found["facts"] = view(segment, py::dtype::of<kernels::RowFacts>(), {2, n}, codes.high_facts.data());
    found["high"] = view(segment, py::dtype::of<std::uint8_t>(), {n, bytes}, codes.high.data());
    found["low"] = view(segment, py::dtype::of<std::uint8_t>(), {n, bytes}, codes.low.data());
  }
  return found;
}

}  // namespace

void register_segment(py::module_& m) {
  m.def("plane_bytes", &codecs::plane_bytes, py::arg("dim"), "Bytes of each half of a row's code.");
  py::class_<Segment, std::shared_ptr<Segment>>(m, "Segment", "Rows in the form they are kept, apart from any store.")
      .def_static("mapped", &mapped, py::arg("dim"), py::arg("codec"), py::arg("rows"), py::arg("files"),
                  py::arg("offset"), py::arg("reference") = py::none())
      .def_readonly("rows", &Segment::rows)
      .def_property_readonly("reference",
                             [](const Segment& segment) -> std::optional<py::array_t<float>> {
                               if (!segment.reference) return std::nullopt;
                               return to_array(std::vector<float>(*segment.reference));
                             })
      .def("arrays", &arrays);
}

}  // namespace evidex::bindings
