// SPDX-License-Identifier: Apache-2.0
#include "index/code_writer.hpp"

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "base/float_state.hpp"
#include "codecs/int8.hpp"
#include "kernels/dispatch.hpp"

namespace evidex::index {
namespace {

constexpr std::size_t kMostRowsOfMean = 65536;  // more would hardly move it
constexpr std::size_t kRowsPerCheck = 256;

/// Calls f(place in the chunk, row as float32) for the rows of chunk `c`, `most` of them at most. Returns how many.
template <class F>
std::size_t for_each_row(const Snapshot& snapshot, std::size_t c, std::size_t most, Stop& stop, F f) {
  const kernels::Table& kernels = kernels::active();
  std::vector<float> scratch(snapshot.dim);
  const std::size_t rows = std::min(snapshot.rows_of_chunk(c), most);
  for (std::size_t at = 0; at < rows; ++at) {
    if (at % kRowsPerCheck == 0) stop.throw_if_requested();
    f(at, snapshot.vector(kernels, c, at, scratch.data()));
  }
  return rows;
}

std::vector<float> mean_of_first(const Snapshot& snapshot, Stop& stop) {
  std::vector<double> sums(snapshot.dim);
  std::size_t rows = 0;
  for (std::size_t c = 0; c < snapshot.map->size() && rows < kMostRowsOfMean; ++c) {
    rows += for_each_row(snapshot, c, kMostRowsOfMean - rows, stop, [&](std::size_t, const float* row) {
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += static_cast<double>(row[i]);
    });
  }
  std::vector<float> means(snapshot.dim);
  for (std::size_t i = 0; i < sums.size(); ++i) means[i] = static_cast<float>(sums[i] / static_cast<double>(rows));
  return means;
}

}  // namespace

void ensure_code_chunks(Snapshot& next) {
  if (next.map->size() <= next.codes->size()) return;
  auto grown = std::make_shared<CodeChunkList>(*next.codes);
  while (grown->size() < next.map->size()) {
    grown->push_back(std::make_shared<CodeChunk>(next.map->rows(grown->size()), codecs::plane_bytes(next.dim)));
  }
  next.codes = std::move(grown);
}

void code_chunk(Snapshot& next, std::size_t c, Stop& stop) {
  const FloatState state;
  codecs::Int8Encoder encoder(kernels::active(), next.dim, next.reference->data());
  const std::size_t bytes = codecs::plane_bytes(next.dim);
  CodeChunk& codes = *(*next.codes)[c];
  for_each_row(next, c, next.rows, stop, [&](std::size_t at, const float* row) {
    codes.set(at, encoder.encode(row, codes.high.data() + at * bytes, codes.low.data() + at * bytes));
  });
}

void attach_codes(Snapshot& next, const Segment& segment, Stop& stop) {
  if (next.codec == codecs::Codec::int8 && (!segment.codes || *segment.reference != *next.reference)) {
    throw InvalidInput("segment: codec int8 keeps codes against no reference, and it has no such");
  }
  if (!next.reference && next.prescan) {
    next.reference = segment.reference;
    if (!next.reference && next.live_rows() >= least_coded_rows(next.dim)) start_codes(next, stop);
  }
  if (!next.reference) return;
  const bool same = segment.codes && (segment.reference == next.reference || *segment.reference == *next.reference);
  const auto grown = std::make_shared<CodeChunkList>(*next.codes);
  for (std::size_t c = grown->size(); c < next.map->size(); ++c) {
    const bool given = same && c + 1 == next.map->size();
    grown->push_back(given ? segment.codes
                           : std::make_shared<CodeChunk>(next.map->rows(c), codecs::plane_bytes(next.dim)));
    next.codes = grown;
    if (!given) code_chunk(next, c, stop);
  }
}

void start_codes(Snapshot& next, Stop& stop) {
  const FloatState state;
  next.reference = std::make_shared<const std::vector<float>>(mean_of_first(next, stop));
  ensure_code_chunks(next);
  for (std::size_t c = 0; c < next.map->size(); ++c) code_chunk(next, c, stop);
}

}  // namespace evidex::index
