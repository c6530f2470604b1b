// SPDX-License-Identifier: Apache-2.0
// From a code's sum to an estimate and an upper bound of the canonical score, once per form of metric.
// Plain loops over independent rows: the compiler turns them into any set's registers, and without
// contraction every set computes the same bits. No include guard on purpose.

/// Scores that are inner products. The code loses at most |query| * residual.
struct ProductBound {
  static inline float estimate(const BoundTerms& t, float product, float) { return t.base + product; }
  static inline float upper(const BoundTerms& t, float product, float norm, float residual) {
    return t.base + product + residual * t.per_residual + norm * t.per_norm + t.slack;
  }
};

/// Scores that are negative squared distances: the row lies within `residual` of its decoded place, so its
/// distance is at least the decoded one minus that.
struct DistanceBound {
  // A few roundings of float32 (2^-24 each), with room.
  static constexpr float kLess = 1.0F - 0x1p-20F;
  static constexpr float kSquare = 1.0F - 0x1p-17F;

  /// max(value, 0) as arithmetic: a comparison becomes a branch around the root, and the loop stays scalar.
  static inline float positive(float value) { return 0.5F * (value + __builtin_fabsf(value)); }

  static inline float estimate(const BoundTerms& t, float product, float norm) {
    return product - t.base - norm * norm;
  }
  static inline float upper(const BoundTerms& t, float product, float norm, float residual) {
    const float square = t.base + norm * (norm * kSquare - t.per_norm) - product;
    const float decoded = __builtin_sqrtf(positive(square));
    const float least = positive(decoded * kLess - residual);
    return t.slack - least * least * t.shrink;
  }
};

/// Estimates and upper bounds of n rows. A bound that is not finite becomes infinity, so that its row stays.
template <class Form>
static void bound(const BoundTerms& terms, const std::int32_t* __restrict sums, const float* __restrict scales,
                  const float* __restrict norms, const float* __restrict residuals, std::size_t n,
                  float* __restrict estimates, float* __restrict uppers) noexcept {
  constexpr float kMost = std::numeric_limits<float>::max();
  constexpr float kStays = std::numeric_limits<float>::infinity();
  const BoundTerms t = terms;
  for (std::size_t i = 0; i < n; ++i) {
    const float product = static_cast<float>(t.factor * sums[i] - t.offset) * (t.step * scales[i]);
    const float upper = Form::upper(t, product, norms[i], residuals[i]);
    estimates[i] = Form::estimate(t, product, norms[i]);
    uppers[i] = upper >= -kMost && upper <= kMost ? upper : kStays;
  }
}
