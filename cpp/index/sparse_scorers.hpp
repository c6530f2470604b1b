// SPDX-License-Identifier: Apache-2.0
// How the contributions of terms are made, one type for each way of scoring.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "index/sparse_cursor.hpp"
#include "index/sparse_ranking.hpp"
#include "postings/list_reader.hpp"

namespace evidex::index {

/// `kPrunes`: sums do not depend on their order, and contributions have bounds.
template <class Length>
struct ScoreBm25 {
  static constexpr bool kPrunes = true;

  double contribution(const SparseCursor& term, std::uint32_t row, std::uint32_t value) const noexcept {
    return quantum.rounded(term.weight * bm25.share(value, lengths[row]));
  }
  double bound(const SparseCursor& term, const postings::Bounds& of) const noexcept {
    return quantum.rounded(term.weight * bm25.most_share(of.most, of.least_length));
  }
  double score(double sum, std::size_t) const noexcept { return sum; }

  Bm25 bm25;
  Quantum quantum;
  const Length* lengths;
};

struct ScoreTfidf {
  static constexpr bool kPrunes = false;

  double contribution(const SparseCursor& term, std::uint32_t, std::uint32_t value) const noexcept {
    return term.weight * (times(value) * term.idf);
  }
  double score(double sum, std::size_t row) const noexcept { return sum / (norm * norms[row]); }

  double norm;
  const double* norms;
};

struct ScoreVectors {
  static constexpr bool kPrunes = false;

  double contribution(const SparseCursor& term, std::uint32_t, std::uint32_t value) const noexcept {
    return term.weight * static_cast<double>(std::bit_cast<float>(value));
  }
  double score(double sum, std::size_t) const noexcept { return sum; }
};

}  // namespace evidex::index
