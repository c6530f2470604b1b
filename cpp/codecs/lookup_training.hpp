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

}  // namespace evidex::codecs
