// SPDX-License-Identifier: Apache-2.0
// Puts prepared vectors into the form their snapshot keeps, codes included.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "codecs/int8.hpp"
#include "index/snapshot.hpp"
#include "kernels/table.hpp"

namespace evidex::index {

class RowWriter {
 public:
  /// Writes into the chunks of `next`, whose rows no reader knows yet.
  explicit RowWriter(const Snapshot& next);

  /// Vectors [from, from + n) of `source`, to places from `at` of chunk `c`. Throws InvalidInput naming the row.
  void write(const float* source, std::size_t from, std::size_t n, std::size_t c, std::size_t at);

 private:
  void store_halves(const float* rows, std::size_t from, std::size_t n, std::uint16_t* target);

  const Snapshot& next_;
  const kernels::Table& kernels_;
  std::optional<codecs::Int8Encoder> encoder_;
  std::vector<float> prepared_;  // where the stored form is another than float32
};

}  // namespace evidex::index
