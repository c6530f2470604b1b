// SPDX-License-Identifier: Apache-2.0
// The loops, written once over `Lanes` (16 floats) and a metric's step. Included inside each
// instruction set's namespace and target region after its Lanes. No include guard on purpose.
//
// A sum is *defined* as 16 lanes of fused multiply-add over the dimension, the tail padded with
// zeros, then added pairwise at distance 8, 4, 2, 1. How many rows run side by side is therefore
// free: it hides the latency of the multiply-adds and cannot change a bit.

template <class Op, std::size_t kRows>
static inline void score_rows(const float* query, const float* const* rows, std::size_t dim, float* scores) noexcept {
  Lanes sums[kRows];
  for (std::size_t r = 0; r < kRows; ++r) sums[r] = Lanes::zero();
  const std::size_t whole = dim - dim % 16;
  for (std::size_t i = 0; i < whole; i += 16) {
    const Lanes q = Lanes::load(query + i);
    for (std::size_t r = 0; r < kRows; ++r) sums[r] = Op::step(sums[r], q, Lanes::load(rows[r] + i));
  }
  if (whole < dim) {
    const std::size_t left = dim - whole;
    const Lanes q = Lanes::load_tail(query + whole, left);
    for (std::size_t r = 0; r < kRows; ++r) {
      sums[r] = Op::step(sums[r], q, Lanes::load_tail(rows[r] + whole, left));
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) scores[r] = Op::finish(Lanes::sum(sums[r]));
}

/// Rows at random places are bound by latency: several at once keep more loads in flight.
template <class Op>
static void gather(const float* query, const float* const* rows, std::size_t n, std::size_t dim,
                   float* scores) noexcept {
  std::size_t i = 0;
  for (; i + kRowsTogether <= n; i += kRowsTogether) {
    score_rows<Op, kRowsTogether>(query, rows + i, dim, scores + i);
  }
  for (; i < n; ++i) score_rows<Op, 1>(query, rows + i, dim, scores + i);
}

/// Rows in sequence are bound by memory bandwidth: read as one stream they come twice as fast as read
/// four at a time (benchmarks/NOTES.md), and out-of-order execution overlaps their sums anyway.
template <class Op>
static void scan(const float* query, const float* rows, std::size_t stride, std::size_t n, std::size_t dim,
                 float* scores) noexcept {
  for (std::size_t i = 0; i < n; ++i) {
    const float* row = rows + i * stride;
    score_rows<Op, 1>(query, &row, dim, scores + i);
  }
}

template <class... Ops>
static constexpr auto metric_kernels(TypeList<Ops...>) {
  return std::array<MetricKernels, sizeof...(Ops)>{MetricKernels{&scan<Ops>, &gather<Ops>}...};
}
