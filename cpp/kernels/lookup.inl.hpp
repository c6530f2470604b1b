// SPDX-License-Identifier: Apache-2.0
// Sums of table entries over 4-bit codes. Entries are at most 31: eight of them fit a byte, and are added there before
// anything is widened; 2,112 of them fit 16 bits. Whole numbers: no order matters. No include guard on purpose.

static void lookup_sums(const std::uint8_t* codes, const std::uint8_t* tables, std::size_t positions,
                        std::uint16_t* sums) noexcept {
  LookupSum wide = LookupSum::zero();
  for (std::size_t at = 0; at < positions; at += kLookupGroup) {
    LookupGroup group = LookupGroup::zero();
    for (std::size_t i = at; i < at + kLookupGroup; i += LookupGroup::width) {
      group.add(codes + i * kLookupBytes, tables + i * kLookupTable);
    }
    wide.add(group);
  }
  wide.store(sums);
}

/// Estimates of 64 rows.
static void lookup_estimates(const LookupTerms& terms, const std::uint16_t* __restrict sums,
                             const LookupFacts* __restrict facts, float* __restrict estimates) noexcept {
  const LookupTerms t = terms;
  for (std::size_t i = 0; i < kLookupRows; ++i) {
    const float factor = __builtin_bit_cast(float, facts[i] & 0xFFFF0000U);
    const float addend = __builtin_bit_cast(float, facts[i] << 16);
    const auto sum = static_cast<float>(static_cast<std::int32_t>(sums[i]));
    estimates[i] = t.base + factor * (t.low + t.step * sum) + addend;
  }
}

constexpr LookupKernels kLookups{&lookup_sums, &lookup_estimates};
