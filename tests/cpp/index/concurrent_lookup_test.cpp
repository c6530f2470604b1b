// SPDX-License-Identifier: Apache-2.0
// Readers search by codes while rows are added and coded beside them: all they find is of their snapshot. They begin
// with codes that end within a block, as codes from files do.
//
// P9. Seen red, under the thread sanitizer, with words counted before they are coded, and with a block that was half
// full filled where it lay.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"
#include "index/lookup_pieces.hpp"
#include "index/lookup_search.hpp"
#include "index/world.hpp"

namespace {

using namespace evidex;
using search::Bitmask;

constexpr std::size_t kDim = 32;

void read(const index::RowStore& store, const index::LookupCodes& codes, unsigned number,
          const std::atomic<bool>& done) {
  check::Random random(check::seed(), "readers", number);
  do {
    const auto snapshot = store.snapshot();
    const index::Approximate how{codes.view(), 20, true, {}};
    const std::vector<float> queries = check::random_rows(3, kDim, 10, random).vectors;
    const Bitmask all = Bitmask::ones(snapshot->rows);
    const Bitmask* const masks[] = {&all};
    index::Query query{queries.data(), 3, 5, masks, {}, static_cast<unsigned>(1 + random.below(2))};
    query.approximate = &how;
    const check::Answer answer = check::search_on(*snapshot, query);
    CHECK_EQ(answer.only().returned, std::size_t{5});
    for (const std::int64_t id : answer.ids) CHECK(id >= 0 && static_cast<std::size_t>(id) < snapshot->rows);
  } while (!done);
}

}  // namespace

TEST(codes_grow_beside_readers) {
  check::Random random(check::seed(), "lookup writer");
  Stop stop;
  index::RowStore store(kDim, kernels::kMetrics[1]);
  std::vector<std::uint32_t> rules(300, 0);
  store.add_automatic({{}, check::random_rows(300, kDim, 1000, random).vectors.data(), rules, {}}, stop);
  index::LookupCodes made(
      std::make_shared<const codecs::LookupModel>(index::train(*store.snapshot(), codecs::LookupKind::binary, 1, stop)),
      store.snapshot()->layout);
  made.extend(*store.snapshot(), stop);
  index::LookupCodes codes(made.model(), store.snapshot()->layout, check::pieces_of_first(made.view(), 250, stop), 250,
                           made.fit());
  std::atomic<bool> done{false};
  std::vector<std::string> problems(2);
  std::vector<std::thread> readers;
  for (unsigned t = 0; t < 2; ++t) {
    readers.emplace_back([&, t] {
      try {
        read(store, codes, t, done);
      } catch (const std::exception& error) {
        problems[t] = error.what();
      }
    });
  }
  // Past the first piece.
  for (std::size_t round = 0; round < check::times(60, 230); ++round) {
    store.add_automatic({{}, check::random_rows(300, kDim, 1000, random).vectors.data(), rules, {}}, stop);
    codes.extend(*store.snapshot(), stop);
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  for (const std::string& problem : problems) CHECK_EQ(problem, "");
  CHECK_EQ(codes.view().words(), store.snapshot()->rows / 64);
}
