// SPDX-License-Identifier: Apache-2.0
// What the rest of the library knows about a metric, derived from metrics.inl.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

#include "kernels/bound_terms.hpp"
#include "kernels/type_list.hpp"

namespace evidex::kernels {

namespace definitions {
#include "kernels/bounds.inl.hpp"

#include "kernels/metrics.inl.hpp"
}  // namespace definitions

struct Metric {
  std::string_view name;
  std::string_view alias;
  int id;          ///< position in the list and in every kernel table; stable in files
  bool unit_rows;  ///< rows and queries are divided by their norm at entry
  bool distance;   ///< scores are negative squared distances, otherwise products
  float least_score;
};

template <class... Ms>
constexpr auto describe(TypeList<Ms...>) {
  return std::array<Metric, sizeof...(Ms)>{Metric{Ms::name, Ms::alias, Ms::id, Ms::unit_rows,
                                                  std::is_same_v<typename Ms::Bound, definitions::DistanceBound>,
                                                  Ms::least_score}...};
}

inline constexpr auto kMetrics = describe(definitions::Metrics{});

constexpr bool ids_are_positions() {
  for (std::size_t i = 0; i < kMetrics.size(); ++i) {
    if (kMetrics[i].id != static_cast<int>(i)) return false;
  }
  return true;
}
static_assert(ids_are_positions(), "append new metrics at the end and give them the next id");

}  // namespace evidex::kernels
