// SPDX-License-Identifier: Apache-2.0
// Flat search over rows kept in another form than float32, too short for a pre-scan: brute force over the decoded
// rows, to the bit.
//
// P7, P5. Seen red with: reach() of range_scan.hpp strictly above, selections of other workers not merged.
#include <vector>

#include "check.hpp"
#include "index/world.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/tables.hpp"

namespace {

using namespace evidex;
using check::Random;
using check::World;
using codecs::Codec;
using search::Bitmask;

constexpr std::size_t kQueries = 40;

Bitmask one_in(std::size_t n, std::size_t rows, Random& random) {
  std::vector<std::int64_t> numbers;
  for (std::size_t r = 0; r < rows; ++r) {
    if (random.one_in(n)) numbers.push_back(static_cast<std::int64_t>(r));
  }
  return Bitmask::from_rows(rows, numbers);
}

}  // namespace

TEST(every_codec_with_masks_batches_and_threads) {
  for (const kernels::Metric& metric : kernels::kMetrics) {
    for (const Codec codec : {Codec::float16, Codec::int8}) {
      Random random(check::seed(), codecs::facts(codec).name, static_cast<std::uint64_t>(metric.id));
      for (const std::size_t n : {1U, 65U, 1300U}) {
        const World world(n, 1 + random.below(31), metric, kQueries, random, {codec, true});
        const check::Note note(codecs::facts(codec).name, ", dim ", world.dim());
        for (const std::size_t share : {1U, 2U, 30U}) {
          const Bitmask allow = one_in(share, world.rows(), random);
          std::vector<std::vector<reference::Scored>> ranked;
          for (std::size_t q = 0; q < kQueries; ++q) ranked.push_back(world.ranked(q, allow));
          for (const kernels::Table* table : check::runnable_tables()) {
            kernels::force(table->isa);
            for (const std::size_t count : {1U, 2U, 33U}) {
              const std::size_t first = random.below(kQueries - count + 1);
              const auto workers = static_cast<unsigned>(1 + random.below(3));
              world.compare(ranked, first, count, 1 + random.below(n + 3), allow, workers, random.below(2));
            }
          }
        }
      }
    }
  }
}
