// SPDX-License-Identifier: Apache-2.0
// Codes as they come from files: complete pieces over memory of others.
#pragma once

#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "index/lookup_codes.hpp"

namespace evidex::check {

/// Codes of the first rows; at most one piece.
inline index::LookupPieces pieces_of_first(const index::LookupView& codes, std::size_t rows, Stop& stop) {
  using kernels::LookupFacts;
  struct Memory {
    std::vector<std::uint8_t> codes;
    std::vector<LookupFacts> facts;
  };
  if (rows == 0) return {};
  std::vector<std::int64_t> numbers(rows);
  std::iota(numbers.begin(), numbers.end(), std::int64_t{0});
  const std::size_t words = (rows + 63) / 64;
  const auto memory = std::make_shared<Memory>();
  memory->codes.resize(words * codes.model->positions * kernels::kLookupBytes);
  memory->facts.resize(words * kernels::kLookupRows);
  index::gather(codes, numbers, memory->codes.data(), memory->facts.data(), stop);
  index::LookupPieces pieces;
  pieces.push_back(std::make_shared<index::LookupPiece>(std::span(memory->codes), std::span(memory->facts),
                                                        std::vector<index::Keeper>{memory}));
  return pieces;
}

}  // namespace evidex::check
