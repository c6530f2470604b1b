// SPDX-License-Identifier: Apache-2.0
#include "codecs/lookup_training.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/float_state.hpp"
#include "base/random.hpp"

namespace evidex::codecs {
namespace {

using kernels::kLookupEntries;

constexpr std::size_t kMostRounds = 16;

using Four = std::array<float, kLookupDims>;

/// Lloyd's k-means in four dimensions with sixteen centroids, which begin as points far from each other (k-means++:
/// Arthur and Vassilvitskii, SODA 2007).
class KMeans {
 public:
  KMeans(std::vector<Four> points, std::uint64_t seed)
      : points_(std::move(points)), cluster_of_(points_.size()), distance_of_(points_.size()) {
    Random random(seed);
    std::vector<double> away(points_.size(), std::numeric_limits<double>::infinity());  // squared, from the nearest
    std::size_t chosen = random.next() % points_.size();
    for (Four& centroid : centroids_) {
      centroid = points_[chosen];
      double total = 0;
      for (std::size_t r = 0; r < points_.size(); ++r) {
        away[r] = std::min(away[r], squared_distance(points_[r], centroid));
        total += away[r];
      }
      double left = static_cast<double>(random.next() >> 11) * 0x1p-53 * total;
      for (chosen = 0; chosen + 1 < points_.size() && left >= away[chosen]; ++chosen) left -= away[chosen];
    }
  }

  const std::array<Four, kLookupEntries>& run(Stop& stop) {
    for (std::size_t round = 0; round < kMostRounds; ++round) {
      stop.throw_if_requested();
      if (!assign()) break;
      move();
    }
    return centroids_;
  }

 private:
  static double squared_distance(const Four& a, const Four& b) {
    double sum = 0;
    for (std::size_t i = 0; i < kLookupDims; ++i) {
      const double between = static_cast<double>(a[i]) - static_cast<double>(b[i]);
      sum += between * between;
    }
    return sum;
  }

  /// Whether any point changed its cluster.
  bool assign() {
    std::array<float, kLookupDims * kLookupEntries> across;
    std::array<float, kLookupEntries> half_squares{};
    for (std::size_t e = 0; e < kLookupEntries; ++e) {
      for (std::size_t i = 0; i < kLookupDims; ++i) {
        across[i * kLookupEntries + e] = centroids_[e][i];
        half_squares[e] += 0.5F * centroids_[e][i] * centroids_[e][i];
      }
    }
    bool changed = false;
    for (std::size_t r = 0; r < points_.size(); ++r) {
      const Nearest found = nearest(points_[r].data(), across.data(), half_squares.data());
      changed = changed || found.entry != cluster_of_[r] || first_;
      cluster_of_[r] = found.entry;
      distance_of_[r] = found.distance;
    }
    first_ = false;
    return changed;
  }

  void move() {
    std::array<std::array<double, kLookupDims>, kLookupEntries> sums{};
    std::array<std::size_t, kLookupEntries> counts{};
    for (std::size_t r = 0; r < points_.size(); ++r) {
      ++counts[cluster_of_[r]];
      for (std::size_t i = 0; i < kLookupDims; ++i) sums[cluster_of_[r]][i] += static_cast<double>(points_[r][i]);
    }
    for (std::size_t e = 0; e < kLookupEntries; ++e) {
      if (counts[e] == 0) {
        centroids_[e] = points_[take_farthest()];
        continue;
      }
      for (std::size_t i = 0; i < kLookupDims; ++i) {
        centroids_[e][i] = static_cast<float>(sums[e][i] / static_cast<double>(counts[e]));
      }
    }
  }

  /// The point that its centroid stands for worst, once.
  std::size_t take_farthest() {
    const auto farthest = std::max_element(distance_of_.begin(), distance_of_.end());
    *farthest = -1;
    return static_cast<std::size_t>(farthest - distance_of_.begin());
  }

  std::vector<Four> points_;
  std::vector<std::uint8_t> cluster_of_;
  std::vector<float> distance_of_;  // to the centroid, as nearest() gives it
  std::array<Four, kLookupEntries> centroids_{};
  bool first_ = true;
};

void set_centroids(LookupModel& model, std::size_t position, const std::array<Four, kLookupEntries>& centroids) {
  for (std::size_t e = 0; e < kLookupEntries; ++e) {
    float half_square = 0;
    for (std::size_t i = 0; i < kLookupDims; ++i) {
      model.centroids[(position * kLookupDims + i) * kLookupEntries + e] = centroids[e][i];
      half_square += 0.5F * centroids[e][i] * centroids[e][i];
    }
    model.half_squares[position * kLookupEntries + e] = half_square;
  }
}

/// What signs stand for.
constexpr std::array<Four, kLookupEntries> corners() {
  std::array<Four, kLookupEntries> found{};
  for (std::size_t e = 0; e < kLookupEntries; ++e) {
    for (std::size_t i = 0; i < kLookupDims; ++i) found[e][i] = ((e >> i) & 1) != 0 ? 1.0F : -1.0F;
  }
  return found;
}

std::vector<float> mean_of(std::span<const float> rows, std::size_t dim) {
  std::vector<double> sums(dim);
  for (std::size_t i = 0; i < rows.size(); ++i) sums[i % dim] += static_cast<double>(rows[i]);
  std::vector<float> means(dim);
  const std::size_t n = rows.size() / dim;
  for (std::size_t i = 0; i < dim; ++i) means[i] = static_cast<float>(sums[i] / static_cast<double>(n));
  return means;
}

/// All but centroids that are learnt.
LookupModel begun(LookupKind kind, const kernels::Metric& metric, std::vector<float> reference, std::uint64_t seed) {
  LookupModel model;
  model.kind = kind;
  model.metric = metric;
  model.dim = reference.size();
  model.positions = lookup_positions(model.dim);
  model.reference = std::move(reference);
  model.centroids.resize(model.positions * kLookupDims * kLookupEntries);
  model.half_squares.resize(model.positions * kLookupEntries);
  if (kind == LookupKind::binary) {
    model.rotation.emplace(model.components(), seed);
    for (std::size_t p = 0; p < model.positions; ++p) set_centroids(model, p, corners());
  }
  return model;
}

}  // namespace

LookupModel train_lookup(LookupKind kind, const kernels::Metric& metric, std::size_t dim, std::span<const float> rows,
                         std::uint64_t seed, Stop& stop) {
  const FloatState state;
  LookupModel model = begun(kind, metric, mean_of(rows, dim), seed);
  if (kind == LookupKind::binary) return model;
  const std::size_t n = rows.size() / dim;
  for (std::size_t p = 0; p < model.positions; ++p) {
    std::vector<Four> points(n);
    for (std::size_t r = 0; r < n; ++r) {
      for (std::size_t i = 0; i < kLookupDims; ++i) {
        const std::size_t at = p * kLookupDims + i;
        points[r][i] = at < dim ? rows[r * dim + at] - model.reference[at] : 0.0F;
      }
    }
    set_centroids(model, p, KMeans(std::move(points), seed + p).run(stop));
  }
  return model;
}

LookupModel known_lookup(LookupKind kind, const kernels::Metric& metric, std::span<const float> reference,
                         std::span<const float> centroids, std::uint64_t seed) {
  const FloatState state;
  if (reference.empty() || reference.size() > kMostLookupDim) {
    throw InvalidInput("reference: codes have 1 to " + std::to_string(kMostLookupDim) + " dimensions, this has " +
                       std::to_string(reference.size()));
  }
  constexpr float kFarthest = 0x1p64F;  // farther than rows are from each other
  const auto far = [](float value) { return !(std::fabs(value) <= kFarthest); };
  if (std::any_of(reference.begin(), reference.end(), far)) {
    throw InvalidInput("reference: expected components of at most 2^64");
  }
  LookupModel model = begun(kind, metric, {reference.begin(), reference.end()}, seed);
  const std::size_t expected = kind == LookupKind::pq4 ? model.centroids.size() : 0;
  if (centroids.size() != expected) {
    throw InvalidInput("centroids: expected " + std::to_string(expected) + " components, got " +
                       std::to_string(centroids.size()));
  }
  for (std::size_t p = 0; expected > 0 && p < model.positions; ++p) {
    std::array<Four, kLookupEntries> of_position{};
    for (std::size_t e = 0; e < kLookupEntries; ++e) {
      for (std::size_t i = 0; i < kLookupDims; ++i) {
        of_position[e][i] = centroids[(p * kLookupDims + i) * kLookupEntries + e];
      }
    }
    set_centroids(model, p, of_position);
  }
  if (!std::all_of(model.half_squares.begin(), model.half_squares.end(), [](float s) { return std::isfinite(s); })) {
    throw InvalidInput("centroids: expected numbers with finite squares");
  }
  return model;
}

}  // namespace evidex::codecs
