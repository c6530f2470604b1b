// SPDX-License-Identifier: Apache-2.0
// The metrics: the one place. Included once per instruction set inside that set's namespace and
// target region (so every instruction generated here belongs to it), and once by metrics.hpp for the
// names and numbers that the rest of the library derives from this list.
//
// Bound        how an int8 code bounds the score (bounds.inl.hpp)
// least_score  no score is below it
// step   one multiply-add, on as many of the canonical 16 lanes as a register holds
// finish from the lane sum to a score, higher is better. Adding +0 turns -0 into +0, so equal scores
//        are equal bit for bit.
// No include guard on purpose.

struct InnerProduct {
  static constexpr const char* name = "inner_product";
  static constexpr const char* alias = "ip";
  static constexpr int id = 0;
  static constexpr bool unit_rows = false;
  static constexpr float least_score = -std::numeric_limits<float>::infinity();
  using Bound = ProductBound;

  template <class L>
  static inline L step(L sum, L query, L row) {
    return L::multiply_add(query, row, sum);
  }
  static inline float finish(float sum) { return sum + 0.0F; }
};

/// Rows and queries are divided by their canonical norm at entry, so this is an inner product whose
/// rounding is clamped to [-1, 1] before selection.
struct Cosine : InnerProduct {
  static constexpr const char* name = "cosine";
  static constexpr const char* alias = "cos";
  static constexpr int id = 1;
  static constexpr bool unit_rows = true;
  static constexpr float least_score = -1.0F;

  static inline float finish(float sum) {
    const float clamped = sum > 1.0F ? 1.0F : (sum < -1.0F ? -1.0F : sum);
    return clamped + 0.0F;
  }
};

/// Returned as its negative; identical rows score +0.
struct SquaredL2 {
  static constexpr const char* name = "squared_l2";
  static constexpr const char* alias = "l2";
  static constexpr int id = 2;
  static constexpr bool unit_rows = false;
  static constexpr float least_score = -std::numeric_limits<float>::infinity();
  using Bound = DistanceBound;

  template <class L>
  static inline L step(L sum, L query, L row) {
    const L difference = L::subtract(query, row);
    return L::multiply_add(difference, difference, sum);
  }
  static inline float finish(float sum) { return 0.0F - sum; }
};

using Metrics = TypeList<InnerProduct, Cosine, SquaredL2>;
