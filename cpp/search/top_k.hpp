// SPDX-License-Identifier: Apache-2.0
// Bounded selection under the library's total order: score descending, then id ascending.
//
// A reservoir of twice k: hits that beat the current k-th are appended, and when it is full
// nth_element keeps the best k and tightens the threshold. Each hit costs O(1) amortised whatever
// the order it comes in, and memory is O(k).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace evidex::search {

struct Hit {
  float score;
  std::int64_t id;
};

/// The total order. Scores are finite and never -0.
inline bool better(const Hit& a, const Hit& b) noexcept {
  return a.score > b.score || (a.score == b.score && a.id < b.id);
}

class TopK {
 public:
  /// Keeps at most k hits, none with a score below `least`.
  explicit TopK(std::size_t k, float least = -std::numeric_limits<float>::infinity());

  /// A score below this cannot enter; an equal one can, if its id is lower.
  float threshold() const noexcept { return worst_.score; }

  void push(Hit hit) {
    if (!better(hit, worst_)) return;
    hits_.push_back(hit);
    if (hits_.size() == limit_) shrink();
  }

  void merge(const TopK& other) {
    for (const Hit& hit : other.hits_) push(hit);
  }

  /// The best of the hits pushed, best first. The selection is spent afterwards.
  const std::vector<Hit>& sorted();

 private:
  void shrink();

  std::size_t k_;
  std::size_t limit_;
  Hit worst_;  // the k-th best known so far
  std::vector<Hit> hits_;
};

}  // namespace evidex::search
