// SPDX-License-Identifier: Apache-2.0
#include "bindings/arrays.hpp"
#include "bindings/register.hpp"
#include "search/bitmask.hpp"

namespace evidex::bindings {
namespace {

using search::Bitmask;

std::span<const std::uint8_t> packed_bits(const Array<std::uint8_t>& packed, std::size_t bits) {
  const auto bytes = elements(packed, "packed");
  if (bytes.size() != bits / 8 + (bits % 8 != 0)) {
    throw InvalidInput("packed: " + std::to_string(bytes.size()) + " bytes given for " + std::to_string(bits) +
                       " bits");
  }
  return bytes;
}

Bitmask from_packed(std::size_t rows, const Array<std::uint8_t>& packed) {
  return Bitmask::from_packed(rows, packed_bits(packed, rows));
}

Bitmask from_rows(std::size_t rows, const Array<std::int64_t>& numbers) {
  return Bitmask::from_rows(rows, elements(numbers, "numbers"));
}

Bitmask select(const Bitmask& mask, const Array<std::uint8_t>& packed) {
  return mask.select(packed_bits(packed, mask.count()));
}

py::array_t<bool> test(const Bitmask& mask, const Array<std::int64_t>& numbers) {
  const auto rows = elements(numbers, "numbers");
  py::array_t<bool> out(static_cast<py::ssize_t>(rows.size()));
  bool* set = out.mutable_data();
  for (std::size_t i = 0; i < rows.size(); ++i) set[i] = rows[i] >= 0 && mask.test(static_cast<std::size_t>(rows[i]));
  return out;
}

}  // namespace

void register_bitmask(py::module_& m) {
  py::class_<Bitmask>(m, "Bitmask", "One bit per row, immutable.")
      .def_static("ones", &Bitmask::ones, py::arg("rows"))
      .def_static("from_packed", &from_packed, py::arg("rows"), py::arg("packed").noconvert())
      .def_static("from_rows", &from_rows, py::arg("rows"), py::arg("numbers").noconvert())
      .def("select", &select, py::arg("packed").noconvert())
      .def("test", &test, py::arg("numbers").noconvert())
      .def("__and__", &Bitmask::operator&, py::arg("other"), py::is_operator())
      .def_property_readonly("rows", &Bitmask::rows)
      .def_property_readonly("count", &Bitmask::count);
}

}  // namespace evidex::bindings
