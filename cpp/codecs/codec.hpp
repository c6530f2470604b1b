// SPDX-License-Identifier: Apache-2.0
// How a vector is stored. The one list; names and numbers elsewhere derive from it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace evidex::codecs {

enum class Codec : std::uint8_t { float32, float16, int8 };

struct CodecFacts {
  std::string_view name;
  Codec codec;
  std::size_t component_bytes;  ///< of a row's array of components; 0 where the code alone is kept
};

inline constexpr std::array kCodecs{
    CodecFacts{"float32", Codec::float32, 4},
    CodecFacts{"float16", Codec::float16, 2},
    CodecFacts{"int8", Codec::int8, 0},
};

constexpr bool codecs_are_in_order() {
  for (std::size_t i = 0; i < kCodecs.size(); ++i) {
    if (static_cast<std::size_t>(kCodecs[i].codec) != i) return false;
  }
  return true;
}
static_assert(codecs_are_in_order(), "append new codecs at the end of both lists");

constexpr const CodecFacts& facts(Codec codec) { return kCodecs[static_cast<std::size_t>(codec)]; }

}  // namespace evidex::codecs
