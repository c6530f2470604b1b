// SPDX-License-Identifier: Apache-2.0
#include "index/snapshot.hpp"

#include "access/grant.hpp"
#include "base/bits.hpp"

namespace evidex::index {

using search::Bitmask;

const float* Snapshot::vector(const kernels::Table& kernels, std::size_t c, std::size_t at,
                              float* scratch) const noexcept {
  const std::byte* stored = (*chunks)[c]->vectors.data() + at * row_bytes();
  switch (codec) {
    case codecs::Codec::float32:
      return reinterpret_cast<const float*>(stored);
    case codecs::Codec::float16:
      kernels.halves.widen(reinterpret_cast<const std::uint16_t*>(stored), dim, scratch);
      break;
    case codecs::Codec::int8: {
      const CodeChunk& chunk = *(*codes)[c];
      const std::size_t bytes = codecs::plane_bytes(dim);
      kernels.codes.decode(chunk.high.data() + at * bytes, chunk.low.data() + at * bytes, bytes, chunk.scale(at), dim,
                           scratch);
      break;
    }
  }
  return scratch;
}

Bitmask Snapshot::live() const {
  std::vector<Word> words(this->words());
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = ~dead_word(i);
  return Bitmask(rows, std::move(words));
}

Bitmask Snapshot::grant(std::span<const std::uint8_t> allowed) const {
  std::vector<Word> words(this->words());
  std::vector<std::uint64_t> granted;
  owners->read([&](std::span<const std::uint32_t> rules) { granted = access::grant_owners(rules, allowed); });
  for (std::size_t c = 0; c < map->size() && map->begin(c) < rows; ++c) {
    access::grant_rows({(*chunks)[c]->owners.data(), rows_of_chunk(c)}, granted, words.data() + map->begin(c) / 64);
  }
  return Bitmask(rows, std::move(words));
}

std::size_t Snapshot::count_permitted(const Bitmask& mask) const {
  if (dead_rows == 0 && mask.rows() <= rows) return mask.count();
  std::size_t count = 0;
  for_each_permitted(mask, 0, words(), [&](std::size_t, Word word) { count += count_bits(word); });
  return count;
}

std::vector<std::int64_t> Snapshot::permitted_ids(const Bitmask& mask) const {
  std::vector<std::int64_t> ids;
  ids.reserve(count_permitted(mask));
  for_each_permitted(mask, 0, words(), [&](std::size_t i, Word word) {
    for (; word != 0; word &= word - 1) ids.push_back(id(i * 64 + static_cast<std::size_t>(std::countr_zero(word))));
  });
  return ids;
}

}  // namespace evidex::index
