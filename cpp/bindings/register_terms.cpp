// SPDX-License-Identifier: Apache-2.0
// Most terms come as they should be. Saying so here costs less than the call that then searches for them.
#include <pybind11/pybind11.h>

#include <cstdint>

#include "bindings/register.hpp"

namespace evidex::bindings {
namespace {

namespace py = pybind11;

/// No subclass passes: its methods may say something else than what is read here.
bool are_terms(py::handle given, Py_ssize_t most_bytes, std::int64_t most_quarters) {
  if (!PyDict_CheckExact(given.ptr())) return false;
  Py_ssize_t place = 0;
  PyObject* term = nullptr;
  PyObject* weight = nullptr;
  while (PyDict_Next(given.ptr(), &place, &term, &weight) != 0) {
    if (!PyUnicode_CheckExact(term) || !PyLong_CheckExact(weight)) return false;
    int overflow = 0;
    const std::int64_t quarters = PyLong_AsLongLongAndOverflow(weight, &overflow);  // -1 where it overflows
    if (quarters < 1 || quarters > most_quarters) return false;
    Py_ssize_t bytes = 0;
    if (PyUnicode_AsUTF8AndSize(term, &bytes) == nullptr) {  // lone surrogates
      PyErr_Clear();
      return false;
    }
    if (bytes > most_bytes) return false;
  }
  return true;
}

}  // namespace

void register_terms(py::module_& m) {
  m.def("are_terms", &are_terms, "Whether it is a dict from str to int within these limits: nothing to convert.",
        py::arg("given"), py::arg("most_bytes"), py::arg("most_quarters"));
}

}  // namespace evidex::bindings
