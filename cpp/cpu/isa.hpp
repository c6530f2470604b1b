// SPDX-License-Identifier: Apache-2.0
// The instruction sets there is code for, best first. A new one is a row here and a file
// kernels/arch/<name>.cpp.
#pragma once

#include <array>
#include <string_view>

#include "cpu/features.hpp"

namespace evidex::cpu {

struct Isa {
  std::string_view name;
  Features required;
};

inline constexpr std::array kIsas{
#if defined(__x86_64__)
    Isa{"avx512", kAvx512 | kAvx2 | kFma | kF16c},
    Isa{"avx2", kAvx2 | kFma | kF16c},
#endif
    Isa{"scalar", 0},
};

}  // namespace evidex::cpu
