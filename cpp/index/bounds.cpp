// SPDX-License-Identifier: Apache-2.0
#include "index/bounds.hpp"

#include "codecs/int8.hpp"

namespace evidex::index {
namespace {

template <class T>
T* grown(AlignedBuffer<T>& buffer, std::size_t size) {
  if (buffer.size() < size) buffer = AlignedBuffer<T>(size);
  return buffer.data();
}

}  // namespace

Bounds::Bounds(const Tile& tile, std::size_t estimators, BoundRoom& room)
    : bytes(codecs::plane_bytes(tile.snapshot.dim)),
      codes(tile.count * 2 * bytes),
      dense_(Dense::of(tile.count)),
      room_(most(tile.snapshot.words(), tile.permitted, dense_, estimators)),
      batches_(grown(room.batches, room_)),
      rows_(grown(room.rows, room_ * kRows)),
      uppers_(grown(room.uppers, tile.count * room_ * kRows)) {
  queries.reserve(tile.count);
  for (std::size_t q = 0; q < tile.count; ++q) {
    queries.push_back(codecs::bound_query(tile.snapshot.metric, *tile.snapshot.reference, tile.query(q).data(),
                                          {codes.data() + q * 2 * bytes, 2 * bytes}));
  }
}

}  // namespace evidex::index
