// SPDX-License-Identifier: Apache-2.0
// The whole module on one screen. No defaults, no normalisation, no loops over rows in bindings.
#include <pybind11/pybind11.h>

#include "bindings/register.hpp"

PYBIND11_MODULE(_core, m) {
  m.doc() = "The compiled core of evidex. Private: use the evidex package.";
  m.attr("__version__") = EVIDEX_VERSION;
  evidex::bindings::register_errors(m);
  evidex::bindings::register_cpu(m);
  evidex::bindings::register_access(m);
  evidex::bindings::register_bitmask(m);
  evidex::bindings::register_segment(m);
  evidex::bindings::register_row_store(m);
  evidex::bindings::register_lookup(m);
  evidex::bindings::register_sparse(m);
  evidex::bindings::register_terms(m);
  evidex::bindings::register_testing(m);
}
