// SPDX-License-Identifier: Apache-2.0
// Lets Ctrl-C end a call that runs without the GIL. Signal handlers run on the main thread only, and
// only while it holds the GIL, so the calling thread takes it back for a moment now and then.
#pragma once

#include <pybind11/pybind11.h>

#include "base/stop.hpp"

namespace evidex::bindings {

inline Stop stop_on_signal() {
  return Stop([] {
    const pybind11::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
  });
}

}  // namespace evidex::bindings
