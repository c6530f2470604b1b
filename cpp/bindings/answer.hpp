// SPDX-License-Identifier: Apache-2.0
// What searches give to Python, filled while they run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "bindings/arrays.hpp"
#include "index/flat.hpp"

namespace evidex::bindings {

/// Results of one call as arrays [nq, width]; places beyond a query's hits hold -1, and score -infinity.
struct Answer {
  py::array_t<std::int64_t> ids;
  py::array_t<float> scores;
  py::array_t<std::int64_t> groups;
  py::array_t<std::int64_t> rows;    // where the hits lie in the snapshot
  py::array_t<std::int64_t> counts;  // [nq]
  py::array_t<bool> certified;       // [nq]
  index::Plan plan;
  index::Trace trace;
};

/// Runs `run(sink)` and writes what the sink gets for each of `count` queries: `k` wide, or as wide as the largest
/// count where k is not given or so large that padding would cost real memory.
void fill(Answer& answer, std::size_t count, std::optional<std::size_t> k,
          const std::function<void(const index::Sink&)>& run);

}  // namespace evidex::bindings
