// SPDX-License-Identifier: Apache-2.0
// What this processor offers *and* the operating system preserves across context switches.
#pragma once

#include <cstdint>

namespace evidex::cpu {

using Features = std::uint32_t;

inline constexpr Features kAvx2 = 1U << 0;
inline constexpr Features kFma = 1U << 1;

/// Detected once per process.
Features features() noexcept;

}  // namespace evidex::cpu
