// SPDX-License-Identifier: Apache-2.0
// Bounded selection under the library's total order: score descending, then id ascending.
//
// A reservoir of twice k: hits that beat the current k-th are appended, and when it is full
// nth_element keeps the best k and tightens the threshold. Each hit costs O(1) amortised whatever
// the order it comes in, and memory is O(k). A grouped selection keeps the best hit of each group and
// the best k groups; its threshold is the k-th best group, never the k-th best hit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace evidex::search {

/// Members are ordered for size, not for the constructor.
struct Hit {
  constexpr Hit() noexcept : Hit(0.0F, 0) {}
  constexpr Hit(float its_score, std::int64_t its_id, std::int64_t its_group = 0, std::uint32_t its_row = 0) noexcept
      : score(its_score), row(its_row), id(its_id), group(its_group) {}

  float score;
  std::uint32_t row;  // where it lies
  std::int64_t id;
  std::int64_t group;  // only looked at by grouped selections
};

/// The total order. Scores are finite and never -0.
inline bool better(const Hit& a, const Hit& b) noexcept {
  return a.score > b.score || (a.score == b.score && a.id < b.id);
}

/// The same for algorithms, which would call a function through a pointer for each comparison.
struct Better {
  bool operator()(const Hit& a, const Hit& b) const noexcept { return better(a, b); }
};

class TopK {
 public:
  /// Keeps at most k hits, none with a score below `least`.
  explicit TopK(std::size_t k, float least = -std::numeric_limits<float>::infinity(), bool grouped = false);

  std::size_t k() const noexcept { return k_; }
  bool grouped() const noexcept { return grouped_; }

  /// A score below this cannot enter; an equal one can, if its id is lower.
  float threshold() const noexcept { return worst_.score; }

  void push(Hit hit) {
    if (!better(hit, worst_)) return;
    hits_.push_back(hit);
    if (hits_.size() == limit_) shrink();
  }

  /// The best of the hits pushed, in no order. Where there are k, the threshold is the k-th score.
  const std::vector<Hit>& best() {
    if (grouped_ || hits_.size() >= k_) shrink();
    return hits_;
  }

  void merge(const TopK& other) {
    for (const Hit& hit : other.hits_) push(hit);
  }

  /// The same, best first.
  const std::vector<Hit>& sorted();

 private:
  void shrink();
  void keep_best_of_groups();

  std::size_t k_;
  std::size_t limit_;
  bool grouped_;
  Hit worst_;  // the k-th best known so far
  std::vector<Hit> hits_;
};

}  // namespace evidex::search
