// SPDX-License-Identifier: Apache-2.0
// The tables that the arch files define, one per row of cpu/isa.hpp and in its order.
#pragma once

#include <array>

#include "kernels/table.hpp"

namespace evidex::kernels {

namespace scalar {
extern const Table kTable;
}
#if defined(__x86_64__)
namespace avx512 {
extern const Table kTable;
}
namespace avx2 {
extern const Table kTable;
}
#endif

inline constexpr std::array kTables{
#if defined(__x86_64__)
    &avx512::kTable,
    &avx2::kTable,
#endif
    &scalar::kTable,
};

}  // namespace evidex::kernels
