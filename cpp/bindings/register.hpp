// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

namespace evidex::bindings {

void register_errors(pybind11::module_& m);
void register_cpu(pybind11::module_& m);
void register_access(pybind11::module_& m);
void register_bitmask(pybind11::module_& m);
void register_segment(pybind11::module_& m);
void register_lookup(pybind11::module_& m);
void register_row_store(pybind11::module_& m);
void register_sparse(pybind11::module_& m);
void register_terms(pybind11::module_& m);
void register_testing(pybind11::module_& m);

}  // namespace evidex::bindings
