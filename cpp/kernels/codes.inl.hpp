// SPDX-License-Identifier: Apache-2.0
// The loops over int8 codes in two nibble planes. A code c in [-127, 127] is 16 * (u - 8) + l: the high
// plane holds u, the low plane l, both in [0, 15]. Byte b of a plane holds component b in its low half
// and component b + bytes in its high half, so a query's own order serves both. No include guard on purpose.
//
// The sums need an instruction set's Nibbles; the rest are plain loops over independent components or
// over a fixed number of lanes, which every set computes to the same bits.

/// Sums of nibbles times signed bytes for kQueries x kRows pairs. Whole numbers: no order matters. Sixteen
/// times 15 * 127 fit in 16 bits, and 15 * 127 * dim in 32.
template <std::size_t kQueries, std::size_t kRows>
static inline void nibble_sums(const std::int8_t* queries, const std::uint8_t* const* rows, std::size_t bytes,
                               std::int32_t* sums, std::size_t stride) noexcept {
  NibbleSum running[kQueries][kRows];
  for (auto& of_query : running) {
    for (NibbleSum& sum : of_query) sum = NibbleSum::zero();
  }
  const std::size_t whole = bytes - bytes % Nibbles::width;
  for (std::size_t at = 0; at < whole; at += Nibbles::width) {
    Nibbles row[kRows];
    for (std::size_t r = 0; r < kRows; ++r) row[r] = Nibbles::load(rows[r] + at);
    for (std::size_t q = 0; q < kQueries; ++q) {
      const std::int8_t* query = queries + q * 2 * bytes + at;
      const auto factors = Factors::load(query, query + bytes);
      for (std::size_t r = 0; r < kRows; ++r) running[q][r].add(row[r], factors);
    }
  }
  if (whole < bytes) {
    const std::size_t left = bytes - whole;
    for (std::size_t r = 0; r < kRows; ++r) {
      const Nibbles row = Nibbles::load_tail(rows[r] + whole, left);
      for (std::size_t q = 0; q < kQueries; ++q) {
        const std::int8_t* query = queries + q * 2 * bytes + whole;
        running[q][r].add(row, Factors::load_tail(query, query + bytes, left));
      }
    }
  }
  for (std::size_t q = 0; q < kQueries; ++q) NibbleSum::totals(running[q], sums + q * stride);
}

static void nibble_scan(const std::int8_t* query, const std::uint8_t* rows, std::size_t n, std::size_t bytes,
                        std::int32_t* sums) noexcept {
  std::size_t i = 0;
  for (; i + kNibbleScanRows <= n; i += kNibbleScanRows) {
    const std::uint8_t* some[kNibbleScanRows];
    for (std::size_t r = 0; r < kNibbleScanRows; ++r) some[r] = rows + (i + r) * bytes;
    nibble_sums<1, kNibbleScanRows>(query, some, bytes, sums + i, 0);
  }
  for (; i < n; ++i) {
    const std::uint8_t* row = rows + i * bytes;
    nibble_sums<1, 1>(query, &row, bytes, sums + i, 0);
  }
}

static void nibble_tile(const std::int8_t* queries, std::size_t nq, const std::uint8_t* const* rows, std::size_t n,
                        std::size_t bytes, std::int32_t* sums, std::size_t stride) noexcept {
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t at = 0; at < bytes; at += 64) __builtin_prefetch(rows[i] + at);
  }
  std::size_t r = 0;
  for (; r + kNibbleRows <= n; r += kNibbleRows) {
    std::size_t q = 0;
    for (; q + kNibbleQueries <= nq; q += kNibbleQueries) {
      nibble_sums<kNibbleQueries, kNibbleRows>(queries + q * 2 * bytes, rows + r, bytes, sums + q * stride + r, stride);
    }
    for (; q < nq; ++q) nibble_sums<1, kNibbleRows>(queries + q * 2 * bytes, rows + r, bytes, sums + q * stride + r, 0);
  }
  for (; r < n; ++r) {
    for (std::size_t q = 0; q < nq; ++q) {
      nibble_sums<1, 1>(queries + q * 2 * bytes, rows + r, bytes, sums + q * stride + r, 0);
    }
  }
}

/// Codes of row - reference: codes[i] nearest to the component divided by the scale returned, which is the
/// largest magnitude / 127, rounded up to 8 significant bits. Components without a usable scale are all coded 0 under
/// scale 0. codes holds 2 * bytes, zero beyond dim.
static float quantise(const float* __restrict row, const float* __restrict reference, std::size_t dim,
                      std::size_t bytes, std::int8_t* __restrict codes, std::uint8_t* __restrict high,
                      std::uint8_t* __restrict low) noexcept {
  constexpr std::size_t kMaxima = 16;
  constexpr float kLeast = 0x1p-100F;    // below, 1 / scale could overflow
  constexpr float kToWhole = 0x1.8p23F;  // adding and subtracting it rounds to the nearest whole number
  float maxima[kMaxima] = {};
  std::size_t i = 0;
  for (; i + kMaxima <= dim; i += kMaxima) {
    for (std::size_t j = 0; j < kMaxima; ++j) {
      const float size = __builtin_fabsf(row[i + j] - reference[i + j]);
      maxima[j] = size > maxima[j] ? size : maxima[j];
    }
  }
  float largest = 0.0F;
  for (; i < dim; ++i) {
    const float size = __builtin_fabsf(row[i] - reference[i]);
    largest = size > largest ? size : largest;
  }
  for (const float size : maxima) largest = size > largest ? size : largest;
  // Rounded up to 16 bits, which is all of it that is kept.
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, largest / 127.0F) + 0xFFFFU;
  const float scale = largest >= kLeast ? __builtin_bit_cast(float, bits & 0xFFFF0000U) : 0.0F;
  const float inverse = largest >= kLeast ? 1.0F / scale : 0.0F;
  for (i = 0; i < dim; ++i) {
    const float whole = ((row[i] - reference[i]) * inverse + kToWhole) - kToWhole;
    codes[i] = static_cast<std::int8_t>(static_cast<std::int32_t>(whole));
  }
  for (; i < 2 * bytes; ++i) codes[i] = 0;
  for (std::size_t b = 0; b < bytes; ++b) {
    const auto first = static_cast<unsigned>(codes[b] + 128);
    const auto second = static_cast<unsigned>(codes[b + bytes] + 128);
    high[b] = static_cast<std::uint8_t>((first >> 4) | (second & 0xF0U));
    low[b] = static_cast<std::uint8_t>((first & 0x0FU) | ((second & 0x0FU) << 4));
  }
  return scale;
}

/// What a row lost in coding, against row - reference: squared norms of the whole-number codes and of the
/// residuals, for the high plane alone and for both planes.
static CodeSums measure(const float* __restrict row, const float* __restrict reference,
                        const std::int8_t* __restrict codes, float scale, std::size_t dim) noexcept {
  constexpr std::size_t kRunning = 8;
  std::int32_t high_square = 0;
  std::int32_t square = 0;
  for (std::size_t i = 0; i < dim; ++i) {
    const std::int32_t code = codes[i];
    const std::int32_t high = 2 * ((code + 128) >> 4) - 15;
    high_square += high * high;
    square += code * code;
  }
  const auto unit = static_cast<double>(scale);
  double high_lost[kRunning] = {};
  double lost[kRunning] = {};
  const auto add = [&](std::size_t i, std::size_t lane) {
    const std::int32_t code = codes[i];
    const std::int32_t high = 16 * ((code + 128) >> 4) - 120;
    const double component = static_cast<double>(row[i]) - static_cast<double>(reference[i]);
    const double high_rest = component - unit * static_cast<double>(high);
    const double rest = component - unit * static_cast<double>(code);
    high_lost[lane] += high_rest * high_rest;
    lost[lane] += rest * rest;
  };
  std::size_t i = 0;
  for (; i + kRunning <= dim; i += kRunning) {
    for (std::size_t j = 0; j < kRunning; ++j) add(i + j, j);
  }
  for (; i < dim; ++i) add(i, 0);
  CodeSums sums{high_square, square, 0.0, 0.0};
  for (std::size_t j = 0; j < kRunning; ++j) {
    sums.high_lost += high_lost[j];
    sums.lost += lost[j];
  }
  return sums;
}

/// The components a code stands for, reference not added: scale times the whole number, rounded once.
static void decode(const std::uint8_t* __restrict high, const std::uint8_t* __restrict low, std::size_t bytes,
                   float scale, std::size_t dim, float* __restrict out) noexcept {
  const std::size_t first = dim < bytes ? dim : bytes;
  for (std::size_t b = 0; b < first; ++b) {
    const std::int32_t code = ((high[b] & 0x0F) << 4 | (low[b] & 0x0F)) - 128;
    out[b] = scale * static_cast<float>(code);
  }
  for (std::size_t b = 0; b + bytes < dim; ++b) {
    const std::int32_t code = ((high[b] & 0xF0) | low[b] >> 4) - 128;
    out[b + bytes] = scale * static_cast<float>(code);
  }
}

static void unpack(const RowFacts* __restrict facts, std::size_t n, float* __restrict scales, float* __restrict norms,
                   float* __restrict residuals) noexcept {
  for (std::size_t i = 0; i < n; ++i) {
    const auto above = static_cast<std::uint32_t>(facts[i] >> 32);
    scales[i] = __builtin_bit_cast(float, above & 0xFFFF0000U);
    norms[i] = __builtin_bit_cast(float, static_cast<std::uint32_t>(facts[i]));
    residuals[i] = __builtin_bit_cast(float, above << 16);
  }
}

constexpr CodeKernels kCodes{&nibble_scan, &nibble_tile, &unpack, &quantise, &measure, &decode};
