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

template <class T>
void copy(const T& source, std::size_t from, T& target, std::size_t to, std::size_t width = 1) {
  std::memcpy(target.data() + to * width, source.data() + from * width, width * sizeof(*source.data()));
}

}  // namespace

void copy_row(const Snapshot& from, Place old, Chunk& target, CodeChunk* codes, std::size_t at) {
  const Chunk& source = *(*from.chunks)[old.chunk];
  if (from.row_bytes() > 0) copy(source.vectors, old.at, target.vectors, at, from.row_bytes());
  copy(source.ids, old.at, target.ids, at);
  copy(source.owners, old.at, target.owners, at);
  copy(source.groups, old.at, target.groups, at);
  if (codes == nullptr) return;
  const CodeChunk& coded = *(*from.codes)[old.chunk];
  const std::size_t bytes = codecs::plane_bytes(from.dim);
  copy(coded.high, old.at, codes->high, at, bytes);
  copy(coded.low, old.at, codes->low, at, bytes);
  copy(coded.high_facts, old.at, codes->high_facts, at);
  copy(coded.facts, old.at, codes->facts, at);
}

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
  auto map = std::make_shared<ChunkMap>();
  auto chunks = std::make_shared<ChunkList>();
  auto codes = std::make_shared<CodeChunkList>();
  const bool coded = from.reference != nullptr;
  const std::size_t bytes = codecs::plane_bytes(from.dim);
  for (std::size_t row = 0; row < order.size(); ++row) {
    if (row % kRowsPerCheck == 0) stop.throw_if_requested();
    if (row == map->end()) {
      const std::size_t rows = map->next_rows();
      map->add(rows);
      chunks->push_back(std::make_shared<Chunk>(rows, from.row_bytes()));
      if (coded) codes->push_back(std::make_shared<CodeChunk>(rows, bytes));
    }
    const Place to = map->place(row);
    const Place old = from.place(order[row]);
    copy_row(from, old, *(*chunks)[to.chunk], coded ? (*codes)[to.chunk].get() : nullptr, to.at);
  }
  next->map = std::move(map);
  next->chunks = std::move(chunks);
  next->codes = std::move(codes);
  return next;
}

}  // namespace evidex::index
