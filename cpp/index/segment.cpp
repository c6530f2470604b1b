// SPDX-License-Identifier: Apache-2.0
#include "index/segment.hpp"

#include <algorithm>
#include <cstring>

#include "base/float_state.hpp"
#include "index/code_writer.hpp"
#include "index/relayout.hpp"
#include "index/row_writer.hpp"

namespace evidex::index {

Segment encode(const Snapshot& like, std::span<const std::int64_t> ids, std::span<const std::int64_t> groups,
               const float* vectors, Stop& stop) {
  const FloatState state;
  const std::size_t n = ids.size();
  Snapshot alone;
  alone.dim = like.dim;
  alone.metric = like.metric;
  alone.codec = like.codec;
  alone.prescan = like.prescan;
  alone.reference = like.reference;
  alone.rows = n;
  auto map = std::make_shared<ChunkMap>();
  map->add(n);
  alone.map = std::move(map);
  alone.chunks = std::make_shared<ChunkList>(1, std::make_shared<Chunk>(n, like.row_bytes()));
  if (alone.reference) ensure_code_chunks(alone);
  RowWriter rows(alone);
  constexpr std::size_t kRowsPerCheck = 256;
  for (std::size_t done = 0; done < n; done += kRowsPerCheck) {
    stop.throw_if_requested();
    rows.write(vectors, done, std::min(kRowsPerCheck, n - done), 0, done);
  }
  if (alone.prescan && !alone.reference && n >= least_coded_rows(alone.dim)) start_codes(alone, stop);
  Segment segment{n, alone.dim, alone.codec, (*alone.chunks)[0], {}, {}};
  if (alone.reference) {
    segment.codes = (*alone.codes)[0];
    segment.reference = alone.reference;
  }
  std::copy(ids.begin(), ids.end(), segment.chunk->ids.begin());
  std::copy(groups.begin(), groups.end(), segment.chunk->groups.begin());
  return segment;
}

Segment gather(const Snapshot& from, std::span<const std::int64_t> rows, Stop& stop) {
  const std::size_t bytes = codecs::plane_bytes(from.dim);
  Segment segment{rows.size(), from.dim, from.codec, std::make_shared<Chunk>(rows.size(), from.row_bytes()), {}, {}};
  if (from.reference) {
    segment.codes = std::make_shared<CodeChunk>(rows.size(), bytes);
    segment.reference = from.reference;
  }
  constexpr std::size_t kRowsPerCheck = 1024;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i % kRowsPerCheck == 0) stop.throw_if_requested();
    copy_row(from, from.place(static_cast<std::size_t>(rows[i])), *segment.chunk, segment.codes.get(), i);
  }
  return segment;
}

}  // namespace evidex::index
