// SPDX-License-Identifier: Apache-2.0
// The only translator from the core's errors to Python's. The classes live in evidex/errors.py.
#include <pybind11/pybind11.h>

#include "base/error.hpp"
#include "bindings/register.hpp"

namespace evidex::bindings {
namespace {

namespace py = pybind11;

void raise(const char* python_class, const char* message) {
  const py::object type = py::module_::import("evidex.errors").attr(python_class);
  PyErr_SetString(type.ptr(), message);
}

void translate(std::exception_ptr error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const InvalidInput& e) {
    raise("InvalidInput", e.what());
  } catch (const NotFound& e) {
    raise("NotFound", e.what());
  } catch (const CorruptFile& e) {
    raise("CorruptFile", e.what());
  } catch (const Cancelled& e) {
    // A signal handler's exception is pending: it says more than "cancelled".
    if (PyErr_Occurred() == nullptr) raise("Cancelled", e.what());
  }
}

}  // namespace

void register_errors(py::module_&) { py::register_exception_translator(&translate); }

}  // namespace evidex::bindings
