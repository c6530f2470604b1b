// SPDX-License-Identifier: Apache-2.0
// The loops, written once over `Part` and a metric's step. A Part is what one register holds of the
// 16 lanes; an instruction set says how many floats that is. Included inside each instruction set's
// namespace and target region after its Part. No include guard on purpose.
//
// A sum is *defined* as 16 lanes of fused multiply-add over the dimension, the tail padded with
// zeros, then added pairwise at distance 8, 4, 2, 1. How many queries and rows run side by side is
// therefore free: it hides latency and saves loads, and cannot change a bit.

constexpr std::size_t kLanes = 16;
constexpr std::size_t kParts = kLanes / Part::width;

template <class Op, std::size_t kQueries, std::size_t kRows>
static inline void step_all(Part (&sums)[kQueries][kRows][kParts], std::size_t part, const Part (&q)[kQueries],
                            std::size_t r, Part row) noexcept {
  if constexpr (kQueries > 1) row = Part::keep(row);
  for (std::size_t i = 0; i < kQueries; ++i) sums[i][r][part] = Op::step(sums[i][r][part], q[i], row);
}

/// Scores of kQueries x kRows pairs; a query's scores lie `stride` apart from the next one's.
template <class Op, std::size_t kQueries, std::size_t kRows>
static inline void score(const float* queries, const float* const* rows, std::size_t dim, float* scores,
                         std::size_t stride) noexcept {
  Part sums[kQueries][kRows][kParts];
  for (auto& of_query : sums) {
    for (auto& of_row : of_query) {
      for (Part& part : of_row) part = Part::zero();
    }
  }
  Part q[kQueries];
  const std::size_t whole = dim - dim % kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t p = 0; p < kParts; ++p) {
      const std::size_t at = i + p * Part::width;
      for (std::size_t k = 0; k < kQueries; ++k) q[k] = Part::load(queries + k * dim + at);
      for (std::size_t r = 0; r < kRows; ++r) step_all<Op>(sums, p, q, r, Part::load(rows[r] + at));
    }
  }
  if (whole < dim) {
    // A part beyond the end takes part with zeros, as the definition says.
    for (std::size_t p = 0; p < kParts; ++p) {
      const std::size_t begin = whole + p * Part::width;
      const std::size_t at = begin < dim ? begin : dim;
      const std::size_t left = dim - at < Part::width ? dim - at : Part::width;
      for (std::size_t k = 0; k < kQueries; ++k) q[k] = Part::load_tail(queries + k * dim + at, left);
      for (std::size_t r = 0; r < kRows; ++r) step_all<Op>(sums, p, q, r, Part::load_tail(rows[r] + at, left));
    }
  }
  for (std::size_t k = 0; k < kQueries; ++k) {
    for (std::size_t r = 0; r < kRows; ++r) scores[k * stride + r] = Op::finish(Part::sum(sums[k][r]));
  }
}

/// Rows in sequence are bound by memory bandwidth: read as one stream they come twice as fast as read
/// four at a time (benchmarks/NOTES.md), and out-of-order execution overlaps their sums anyway.
template <class Op>
static void scan(const float* query, const float* rows, std::size_t stride, std::size_t n, std::size_t dim,
                 float* scores) noexcept {
  // Loads of a tail are masked, and rows that only those touch are not fetched ahead (benchmarks/NOTES.md).
  constexpr std::size_t kAhead = 256;
  for (std::size_t i = 0; i < n; ++i) {
    const float* row = rows + i * stride;
    if (dim < kLanes) __builtin_prefetch(row + kAhead);
    score<Op, 1, 1>(query, &row, dim, scores + i, 0);
  }
}

/// Rows at random places are bound by latency: several at once keep more loads in flight.
template <class Op>
static void gather(const float* query, const float* const* rows, std::size_t n, std::size_t dim,
                   float* scores) noexcept {
  std::size_t i = 0;
  for (; i + kGatherRows <= n; i += kGatherRows) score<Op, 1, kGatherRows>(query, rows + i, dim, scores + i, 0);
  for (; i < n; ++i) score<Op, 1, 1>(query, rows + i, dim, scores + i, 0);
}

/// Several queries are bound by multiply-adds once the rows are in cache. The rows of a step stay in
/// the first-level cache while all queries pass over them.
template <class Op>
static void tile(const float* queries, std::size_t nq, const float* const* rows, std::size_t n, std::size_t dim,
                 float* scores, std::size_t stride) noexcept {
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < dim; j += kLanes) __builtin_prefetch(rows[i] + j);
  }
  std::size_t r = 0;
  for (; r + kTileRows <= n; r += kTileRows) {
    std::size_t q = 0;
    for (; q + kTileQueries <= nq; q += kTileQueries) {
      score<Op, kTileQueries, kTileRows>(queries + q * dim, rows + r, dim, scores + q * stride + r, stride);
    }
    for (; q < nq; ++q) score<Op, 1, kTileRows>(queries + q * dim, rows + r, dim, scores + q * stride + r, stride);
  }
  for (; r < n; ++r) {
    for (std::size_t q = 0; q < nq; ++q) score<Op, 1, 1>(queries + q * dim, rows + r, dim, scores + q * stride + r, 0);
  }
}

template <class... Ops>
static constexpr auto metric_kernels(TypeList<Ops...>) {
  return std::array<MetricKernels, sizeof...(Ops)>{
      MetricKernels{&scan<Ops>, &gather<Ops>, &tile<Ops>, &bound<typename Ops::Bound>}...};
}
