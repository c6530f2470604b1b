// SPDX-License-Identifier: Apache-2.0
#include "index/code_writer.hpp"

#include <algorithm>
#include <vector>

#include "base/float_state.hpp"
#include "codecs/int8.hpp"
#include "kernels/dispatch.hpp"

namespace evidex::index {
namespace {

constexpr std::size_t kMostRowsOfMean = 65536;  // more would hardly move it
constexpr std::size_t kRowsPerCheck = 256;

/// Calls f(chunk, place in it, row as float32) for the rows [0, rows).
template <class F>
void for_each_row(const Snapshot& snapshot, std::size_t rows, Stop& stop, F f) {
  const kernels::Table& kernels = kernels::active();
  std::vector<float> scratch(snapshot.dim);
  for (std::size_t row = 0; row < rows; ++row) {
    if (row % kRowsPerCheck == 0) stop.throw_if_requested();
    const std::size_t c = ChunkOf::of(row);
    const std::size_t at = row - ChunkOf::begin(c);
    f(c, at, snapshot.vector(kernels, c, at, scratch.data()));
  }
}

std::vector<float> mean(const Snapshot& snapshot, std::size_t rows, Stop& stop) {
  std::vector<double> sums(snapshot.dim);
  for_each_row(snapshot, rows, stop, [&](std::size_t, std::size_t, const float* row) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += static_cast<double>(row[i]);
  });
  std::vector<float> means(snapshot.dim);
  for (std::size_t i = 0; i < sums.size(); ++i) means[i] = static_cast<float>(sums[i] / static_cast<double>(rows));
  return means;
}

}  // namespace

void ensure_code_chunks(Snapshot& next) {
  const std::size_t needed = ChunkOf::count(next.rows);
  if (needed <= next.codes->size()) return;
  auto grown = std::make_shared<CodeChunkList>(*next.codes);
  while (grown->size() < needed) {
    grown->push_back(std::make_shared<CodeChunk>(ChunkOf::rows(grown->size()), codecs::plane_bytes(next.dim)));
  }
  next.codes = std::move(grown);
}

void start_codes(Snapshot& next, Stop& stop) {
  const FloatState state;
  next.reference = std::make_shared<const std::vector<float>>(mean(next, std::min(next.rows, kMostRowsOfMean), stop));
  ensure_code_chunks(next);
  codecs::Int8Encoder encoder(kernels::active(), next.dim, next.reference->data());
  const std::size_t bytes = codecs::plane_bytes(next.dim);
  for_each_row(next, next.rows, stop, [&](std::size_t c, std::size_t at, const float* row) {
    CodeChunk& codes = *(*next.codes)[c];
    codes.set(at, encoder.encode(row, codes.high.data() + at * bytes, codes.low.data() + at * bytes));
  });
}

}  // namespace evidex::index
