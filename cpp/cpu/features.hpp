// SPDX-License-Identifier: Apache-2.0
// What this processor offers *and* the operating system preserves across context switches.
#pragma once

#include <cstdint>
#include <string>

namespace evidex::cpu {

using Features = std::uint32_t;

inline constexpr Features kAvx2 = 1U << 0;
inline constexpr Features kFma = 1U << 1;
inline constexpr Features kF16c = 1U << 2;
inline constexpr Features kAvx512 = 1U << 3;  ///< F, BW, DQ, VL and VNNI together

/// Detected once per process.
Features features() noexcept;

/// What the processor calls itself, with the number of its model and stepping; empty where it does not say.
std::string processor_name();

}  // namespace evidex::cpu
