// SPDX-License-Identifier: Apache-2.0
// The kernel tables this machine can run.
#pragma once

#include <vector>

#include "kernels/dispatch.hpp"

namespace evidex::check {

inline std::vector<const kernels::Table*> runnable_tables() {
  std::vector<const kernels::Table*> tables;
  for (const kernels::IsaStatus& status : kernels::report()) {
    if (status.supported) tables.push_back(status.table);
  }
  return tables;
}

}  // namespace evidex::check
