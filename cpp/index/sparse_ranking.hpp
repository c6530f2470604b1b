// SPDX-License-Identifier: Apache-2.0
// What a term is worth in a document: the formulas of the sparse leg, each operation in double and rounded once.
//
// BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009) with the idf of Lucene. A contribution is
// rounded to a multiple of a quantum that is small enough to lose nothing a float32 score could show, and large enough
// for sums to be exact. Exact sums are the same in every order, so lists may be read in any, or passed over.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/logarithm.hpp"

namespace evidex::index {

enum class Ranking : std::uint8_t { bm25, tfidf };

/// Quarters as how often a term occurs.
inline double times(std::uint64_t quarters) noexcept { return static_cast<double>(quarters) / 4; }

/// ln(1 + (N - df + 1/2) / (df + 1/2)): above 0 for every term.
inline double inverse_frequency(std::size_t rows, std::size_t df) noexcept {
  return logarithm(static_cast<double>(2 * rows + 2) / static_cast<double>(2 * df + 1));
}

/// Parameters of one call, with the statistics of its scope.
struct Bm25 {
  Bm25(double k1, double b, std::size_t rows, std::uint64_t length) noexcept
      : least(4 * k1 * (1 - b)),
        per_length(length == 0 ? 0 : 4 * k1 * b / (static_cast<double>(length) / static_cast<double>(rows))) {}

  /// Share of its weight that a term gives a document: rises with the value and falls with the length, but for the last
  /// bits.
  double share(std::uint32_t value, std::uint32_t length) const noexcept {
    const auto quarters = static_cast<double>(value);
    return quarters / (quarters + (least + per_length * static_cast<double>(length)));
  }

  /// No share of such values and lengths is larger, whatever was rounded.
  double most_share(std::uint32_t most, std::uint32_t least_length) const noexcept {
    return share(most, least_length) * (1 + 0x1p-50);
  }

  double least;
  double per_length;
};

/// Rounds contributions of a query whose weights add up to `sum`, each at most its weight.
class Quantum {
 public:
  explicit Quantum(double sum) noexcept {
    int exponent = 0;
    (void)std::frexp(sum, &exponent);
    large_ = std::ldexp(1.5, exponent + 1);
    least_ = std::ldexp(1.0, exponent + 1 - 52);
  }

  /// Rises with the contribution, and is above 0.
  double rounded(double contribution) const noexcept { return std::max((contribution + large_) - large_, least_); }

 private:
  double large_;
  double least_;
};

}  // namespace evidex::index
