// SPDX-License-Identifier: Apache-2.0
// The only code that reads numpy arrays. evidex/_arrays.py has converted whatever the caller gave;
// here the exact form is demanded, and a wrong one is an error, never a reinterpretation.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace evidex::bindings {

namespace py = pybind11;

template <class T>
using Array = py::array_t<T, py::array::c_style>;

/// The elements of a one-dimensional array.
template <class T>
std::span<const T> elements(const Array<T>& array, const char* name) {
  if (array.ndim() != 1) {
    throw InvalidInput(std::string(name) + ": expected one dimension, got " + std::to_string(array.ndim()));
  }
  return {array.data(), static_cast<std::size_t>(array.size())};
}

/// Rows of a two-dimensional float32 array that must be `dim` wide.
struct Rows {
  Rows(const Array<float>& array, std::size_t dim, const char* name) {
    if (array.ndim() != 2 || static_cast<std::size_t>(array.shape(1)) != dim) {
      throw InvalidInput(std::string(name) + ": expected shape [n, " + std::to_string(dim) + "]");
    }
    data = array.data();
    count = static_cast<std::size_t>(array.shape(0));
  }

  const float* data;
  std::size_t count;
};

/// A new numpy array that takes over the vector's memory.
template <class T>
py::array_t<T> to_array(std::vector<T> values) {
  auto* owned = new std::vector<T>(std::move(values));
  const py::capsule owner(owned, [](void* p) { delete static_cast<std::vector<T>*>(p); });
  return py::array_t<T>(static_cast<py::ssize_t>(owned->size()), owned->data(), owner);
}

}  // namespace evidex::bindings
