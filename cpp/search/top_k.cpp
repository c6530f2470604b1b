// SPDX-License-Identifier: Apache-2.0
#include "search/top_k.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace evidex::search {
namespace {

// Wins over every hit, so that k = 0 keeps nothing.
constexpr Hit kEverything{std::numeric_limits<float>::infinity(), -1};

/// The best hit that may not enter: no id is below it among the scores just under `least`.
Hit just_below(float least) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  return {std::nextafter(least, kLowest), -1};
}

// For small k a little room keeps nth_element from running after every other hit.
constexpr std::size_t kLeastRoom = 64;

}  // namespace

TopK::TopK(std::size_t k, float least, bool grouped)
    : k_(k), limit_(k + std::max(k, kLeastRoom)), grouped_(grouped), worst_(k == 0 ? kEverything : just_below(least)) {
  constexpr std::size_t kMostAtOnce = 4096;  // larger reservoirs grow as hits arrive
  hits_.reserve(std::min(limit_, kMostAtOnce));
}

void TopK::keep_best_of_groups() {
  std::sort(hits_.begin(), hits_.end(),
            [](const Hit& a, const Hit& b) { return a.group != b.group ? a.group < b.group : better(a, b); });
  const auto same = [](const Hit& a, const Hit& b) { return a.group == b.group; };
  hits_.erase(std::unique(hits_.begin(), hits_.end(), same), hits_.end());
}

void TopK::shrink() {
  if (grouped_) keep_best_of_groups();
  if (k_ == 0 || hits_.size() < k_) return;
  const auto kth = hits_.begin() + static_cast<std::ptrdiff_t>(k_ - 1);
  std::nth_element(hits_.begin(), kth, hits_.end(), Better{});
  hits_.resize(k_);
  worst_ = hits_.back();
}

const std::vector<Hit>& TopK::sorted() {
  (void)best();
  std::sort(hits_.begin(), hits_.end(), Better{});
  return hits_;
}

}  // namespace evidex::search
