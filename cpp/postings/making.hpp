// SPDX-License-Identifier: Apache-2.0
// Postings of documents, and of rows of other postings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/stop.hpp"
#include "postings/postings.hpp"

namespace evidex::postings {

/// Entry i of row r, starts[r] <= i < starts[r + 1], says that it has the term numbers[i], values[i] times.
struct Documents {
  std::span<const std::int64_t> starts;  // [rows + 1]
  std::span<const std::int32_t> numbers;
  std::span<const std::uint32_t> values;
};

/// Terms of text, distinct, in any order. Values are quarters, at least 1; what a row has of a term several times is
/// added up. Throws InvalidInput naming what is wrong.
std::shared_ptr<const Postings> of_terms(std::span<const std::string_view> terms, const Documents& documents,
                                         Stop& stop);

/// Terms that are numbers, with float weights whose bits are the values. Weights of 0 are left out; negative ones, ones
/// that are not finite, and a number twice in a row are refused.
std::shared_ptr<const Postings> of_vectors(std::span<const std::int64_t> indices, std::span<const float> values,
                                           std::span<const std::int64_t> starts, Stop& stop);

struct Source {
  std::uint32_t part;
  std::uint32_t row;
};

/// New postings whose row j is a row of one of the parts; each may be taken once. Throws InvalidInput for a row that is
/// not there and for parts of two kinds.
std::shared_ptr<const Postings> gathered(std::span<const Postings* const> parts, std::span<const Source> rows,
                                         bool weighted, Stop& stop);

/// The term that stands for a number: its order is that of the numbers.
struct NumberTerm {
  explicit NumberTerm(std::uint32_t number) noexcept {
    for (int i = 0; i < 4; ++i) bytes[i] = static_cast<char>(number >> (24 - 8 * i));
  }
  std::string_view view() const noexcept { return {bytes, sizeof(bytes)}; }

  char bytes[4];
};

}  // namespace evidex::postings
