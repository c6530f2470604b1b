// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/table.hpp"

namespace evidex::kernels {

/// True when every slot of `table` agrees bit for bit with scalar on awkward dimensions, tails,
/// signs, subnormals and thresholds. Takes well under a millisecond.
bool agrees_with_scalar(const Table& table);

/// Its part on what concerns codes, the bounds of scores and halves; finite values only, as at entry.
bool codes_agree_with_scalar(const Table& table);

}  // namespace evidex::kernels
