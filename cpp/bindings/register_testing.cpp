// SPDX-License-Identifier: Apache-2.0
// Hooks for the test suite, kept out of the module proper.
#include <pybind11/pybind11.h>

#include <string>

#include "base/cpu_budget.hpp"
#include "base/error.hpp"
#include "base/thread_pool.hpp"
#include "bindings/register.hpp"
#include "kernels/dispatch.hpp"

namespace evidex::bindings {
namespace {

namespace py = pybind11;

void raise(const std::string& error) {
  if (error == "InvalidInput") throw InvalidInput("raised on purpose");
  if (error == "NotFound") throw NotFound("raised on purpose");
  if (error == "Cancelled") throw Cancelled("raised on purpose");
  throw InvalidInput("error: unknown '" + error + "'");
}

}  // namespace

void register_testing(py::module_& m) {
  py::module_ testing = m.def_submodule("_testing", "Hooks for the test suite.");
  testing.def("force_isa", [](const std::string& isa) { kernels::force(isa); }, py::arg("isa"));
  testing.def("pool_threads", &pool_threads);
  testing.def("cgroup_limit", &cgroup_limit, py::arg("membership"), py::arg("mount"));
  testing.def("raise_error", &raise, py::arg("error"));
}

}  // namespace evidex::bindings
