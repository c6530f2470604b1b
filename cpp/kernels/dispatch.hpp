// SPDX-License-Identifier: Apache-2.0
// Which table runs. Chosen on first use: the best set the processor has that agrees with scalar bit
// for bit in a self-test, or exactly the one named by the environment variable EVIDEX_ISA.
#pragma once

#include <string_view>
#include <vector>

#include "kernels/table.hpp"

namespace evidex::kernels {

enum class SelfTest { not_run, passed, failed };

struct IsaStatus {
  std::string_view name;
  bool supported;  ///< by processor and operating system
  SelfTest self_test;
  bool active;
  const Table* table;
};

/// Throws InvalidInput when EVIDEX_ISA names a set that is unknown, absent or fails its self-test.
const Table& active();

/// One entry per instruction set compiled in, best first.
std::vector<IsaStatus> report();

/// Switches all later scans of the process, under the same conditions as EVIDEX_ISA. For tests.
void force(std::string_view isa);

}  // namespace evidex::kernels
