// SPDX-License-Identifier: Apache-2.0
// A compile-time list of types, indexed by position.
#pragma once

#include <cstddef>

namespace evidex::kernels {

template <class... Ts>
struct TypeList {
  static constexpr std::size_t size = sizeof...(Ts);
};

}  // namespace evidex::kernels
