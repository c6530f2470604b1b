// SPDX-License-Identifier: Apache-2.0
#include "index/row_writer.hpp"

#include <cmath>
#include <sstream>

#include "base/error.hpp"
#include "index/prepare.hpp"
#include "kernels/dispatch.hpp"

namespace evidex::index {

RowWriter::RowWriter(const Snapshot& next) : next_(next), kernels_(kernels::active()) {
  if (next.reference) encoder_.emplace(kernels_, next.dim, next.reference->data());
}

void RowWriter::store_halves(const float* rows, std::size_t from, std::size_t n, std::uint16_t* target) {
  const std::size_t dim = next_.dim;
  kernels_.halves.narrow(rows, n * dim, target);
  for (std::size_t i = 0; i < n * dim; ++i) {
    constexpr unsigned kInfinity = 0x7C00;
    if ((target[i] & kInfinity) != kInfinity) continue;
    std::ostringstream why;
    why << "vectors: row " << from + i / dim << " holds " << rows[i] << " at position " << i % dim
        << ", which overflows float16 (largest 65504); scale the vectors down or use codec float32";
    throw InvalidInput(why.str());
  }
}

void RowWriter::write(const float* source, std::size_t from, std::size_t n, std::size_t c, std::size_t at) {
  const std::size_t dim = next_.dim;
  if (dim == 0) return;  // nor is there memory
  std::byte* stored = (*next_.chunks)[c]->vectors.data() + at * next_.row_bytes();
  const bool as_float32 = next_.codec == codecs::Codec::float32;
  if (!as_float32) prepared_.resize(n * dim);
  float* rows = as_float32 ? reinterpret_cast<float*>(stored) : prepared_.data();
  prepare(next_.metric, dim, source, from, n, rows, "vectors");
  if (next_.codec == codecs::Codec::float16) {
    auto* halves = reinterpret_cast<std::uint16_t*>(stored);
    store_halves(rows, from, n, halves);
    if (encoder_) kernels_.halves.widen(halves, n * dim, rows);
  }
  if (!encoder_) return;
  CodeChunk& codes = *(*next_.codes)[c];
  const std::size_t bytes = codecs::plane_bytes(dim);
  for (std::size_t i = 0; i < n; ++i) {
    std::uint8_t* high = codes.high.data() + (at + i) * bytes;
    std::uint8_t* low = codes.low.data() + (at + i) * bytes;
    float* row = rows + i * dim;
    codes.set(at + i, next_.codec == codecs::Codec::int8 ? encoder_->encode_and_replace(row, high, low)
                                                         : encoder_->encode(row, high, low));
  }
}

}  // namespace evidex::index
