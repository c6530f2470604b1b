// SPDX-License-Identifier: Apache-2.0
// From a sample of rows to what codes are made with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/stop.hpp"
#include "codecs/lookup_code.hpp"

namespace evidex::codecs {

/// Fewer rows tell too little of their distribution: several for each centroid.
inline constexpr std::size_t kLeastTrainingRows = 256;
/// More rows hardly move what is learnt.
inline constexpr std::size_t kMostTrainingRows = 16384;

/// The model for rows like these, [n, dim], prepared. The same rows and seed give the same model to the bit.
LookupModel train_lookup(LookupKind kind, const kernels::Metric& metric, std::size_t dim, std::span<const float> rows,
                         std::uint64_t seed, Stop& stop);

/// What train_lookup made, from what decides it: the seed of a rotation, or centroids, [positions, 4, 16]; none for
/// binary. Throws InvalidInput for other sizes, and numbers that no rows lead to.
LookupModel known_lookup(LookupKind kind, const kernels::Metric& metric, std::span<const float> reference,
                         std::span<const float> centroids, std::uint64_t seed);

}  // namespace evidex::codecs
