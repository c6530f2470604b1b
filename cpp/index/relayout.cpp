// SPDX-License-Identifier: Apache-2.0
#include "index/relayout.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "codecs/int8.hpp"
#include "index/code_writer.hpp"

namespace evidex::index {
namespace {

constexpr std::size_t kRowsPerCheck = 1024;

struct Place {
  explicit Place(std::size_t row) : chunk(ChunkOf::of(row)), at(row - ChunkOf::begin(chunk)) {}

  std::size_t chunk;
  std::size_t at;
};

template <class T>
void copy_row(const T& source, std::size_t from, T& target, std::size_t to, std::size_t width = 1) {
  std::memcpy(target.data() + to * width, source.data() + from * width, width * sizeof(*source.data()));
}

}  // namespace

std::vector<std::uint32_t> clustered_order(const Snapshot& snapshot, std::span<const std::uint32_t> rank_of_rule) {
  std::vector<std::uint64_t> keys;  // rank above, row below: sorting them is stable by itself
  keys.reserve(snapshot.live_rows());
  snapshot.owners->read([&](std::span<const std::uint32_t> rules) {
    snapshot.for_each_permitted(snapshot.live(), 0, snapshot.words(), [&](std::size_t i, std::uint64_t word) {
      for (; word != 0; word &= word - 1) {
        const std::size_t row = i * 64 + static_cast<std::size_t>(std::countr_zero(word));
        const std::uint32_t rule = rules[snapshot.owner(row)];
        const std::uint64_t rank =
            rule < rank_of_rule.size() ? rank_of_rule[rule] : std::numeric_limits<std::uint32_t>::max();
        keys.push_back(rank << 32 | row);
      }
    });
  });
  std::sort(keys.begin(), keys.end());
  std::vector<std::uint32_t> order(keys.size());
  std::transform(keys.begin(), keys.end(), order.begin(),
                 [](std::uint64_t key) { return static_cast<std::uint32_t>(key); });
  return order;
}

std::shared_ptr<Snapshot> relaid(const Snapshot& from, std::span<const std::uint32_t> order, Stop& stop) {
  auto next = std::make_shared<Snapshot>(from);
  next->rows = order.size();
  next->dead_rows = 0;
  next->dead = std::make_shared<DeadRows>();
  auto chunks = std::make_shared<ChunkList>();
  auto codes = std::make_shared<CodeChunkList>();
  const bool coded = from.reference != nullptr;
  const std::size_t bytes = codecs::plane_bytes(from.dim);
  for (std::size_t row = 0; row < order.size(); ++row) {
    if (row % kRowsPerCheck == 0) stop.throw_if_requested();
    const Place to(row);
    if (to.chunk == chunks->size()) {
      chunks->push_back(std::make_shared<Chunk>(ChunkOf::rows(to.chunk), from.row_bytes()));
      if (coded) codes->push_back(std::make_shared<CodeChunk>(ChunkOf::rows(to.chunk), bytes));
    }
    const Place old(order[row]);
    const Chunk& source = *(*from.chunks)[old.chunk];
    Chunk& target = *(*chunks)[to.chunk];
    if (from.row_bytes() > 0) copy_row(source.vectors, old.at, target.vectors, to.at, from.row_bytes());
    copy_row(source.ids, old.at, target.ids, to.at);
    copy_row(source.owners, old.at, target.owners, to.at);
    copy_row(source.groups, old.at, target.groups, to.at);
    if (!coded) continue;
    const CodeChunk& source_codes = *(*from.codes)[old.chunk];
    CodeChunk& target_codes = *(*codes)[to.chunk];
    copy_row(source_codes.high, old.at, target_codes.high, to.at, bytes);
    copy_row(source_codes.low, old.at, target_codes.low, to.at, bytes);
    copy_row(source_codes.high_facts, old.at, target_codes.high_facts, to.at);
    copy_row(source_codes.facts, old.at, target_codes.facts, to.at);
  }
  next->chunks = std::move(chunks);
  next->codes = std::move(codes);
  return next;
}

}  // namespace evidex::index
