// SPDX-License-Identifier: Apache-2.0
// Rows in the form they are kept, apart from any index: encoded once, written to files or mapped from them, attached to
// any number of row stores. Never changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/stop.hpp"
#include "index/chunks.hpp"
#include "index/snapshot.hpp"

namespace evidex::index {

struct Segment {
  std::size_t rows = 0;
  std::size_t dim = 0;
  codecs::Codec codec = codecs::Codec::float32;
  std::shared_ptr<Chunk> chunk;
  /// Coded as row - reference; neither where the rows have no codes.
  std::shared_ptr<CodeChunk> codes;
  std::shared_ptr<const std::vector<float>> reference;
};

/// Rows `vectors` [n, dim] in the form that `like` keeps. Where codes are wanted and `like` has no reference yet, one
/// is made if these rows are enough for it. Throws InvalidInput naming the row.
Segment encode(const Snapshot& like, std::span<const std::int64_t> ids, std::span<const std::int64_t> groups,
               const float* vectors, Stop& stop);

/// Rows of a snapshot as they are, in another order: nothing is decoded or encoded again.
Segment gather(const Snapshot& from, std::span<const std::int64_t> rows, Stop& stop);

}  // namespace evidex::index
