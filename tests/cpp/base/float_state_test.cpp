// SPDX-License-Identifier: Apache-2.0
// Other libraries leave flush-to-zero or another rounding mode behind in a thread. Results must not
// notice, and the caller must find its own state again.
#include "base/float_state.hpp"

#include <algorithm>
#include <cfenv>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/thread_pool.hpp"
#include "check.hpp"
#include "index/flat.hpp"
#include "index/row_store.hpp"
#include "random.hpp"
#include "reference.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>

namespace {

using namespace evidex;

constexpr std::uint32_t kDefault = 0x1F80;
constexpr std::uint32_t kFlush = 0x8040;   // flush to zero, subnormals are zero
constexpr std::uint32_t kUpward = 0x4000;  // rounding control
constexpr std::uint32_t kToZero = 0x6000;

/// Everything but the sticky exception flags.
std::uint32_t controls() { return _mm_getcsr() & 0xFFC0; }

class Disturbed {
 public:
  explicit Disturbed(std::uint32_t word) : before_(_mm_getcsr()) { _mm_setcsr(word); }
  ~Disturbed() { _mm_setcsr(before_); }
  Disturbed(const Disturbed&) = delete;
  Disturbed& operator=(const Disturbed&) = delete;

 private:
  std::uint32_t before_;
};

struct Answer {
  std::vector<std::int64_t> ids;
  std::vector<float> scores;
  std::vector<kernels::RowFacts> facts;  // of the rows' codes, where there are any
};

/// Small and subnormal components, so that flushing or another rounding would show.
struct Shape {
  std::size_t rows;
  std::size_t dim;
  codecs::Codec codec;
};

Answer ingest_and_search(const kernels::Metric& metric, const Shape& shape, unsigned workers) {
  constexpr std::size_t kHits = 20;
  check::Random random(check::seed(), "float state");
  std::vector<float> rows(shape.rows * shape.dim);
  std::vector<std::uint32_t> bits(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    // Bit patterns, so that the inputs are the same whatever the state: exponents near 2^-70.
    const auto word = static_cast<std::uint32_t>(random.next());
    rows[i] = std::bit_cast<float>((word & 0x807FFFFF) | ((50U + word % 13) << 23));
  }
  std::vector<std::int64_t> ids(shape.rows);
  std::iota(ids.begin(), ids.end(), 0);
  const std::vector<std::uint32_t> rules(shape.rows);
  Stop stop;
  index::RowStore store(shape.dim, metric, {shape.codec, true});
  store.add({ids, rows.data(), rules, {}}, stop);
  const auto snapshot = store.snapshot();
  const auto all = search::Bitmask::ones(shape.rows);
  const search::Bitmask* const masks[] = {&all};
  const index::Query query{rows.data(), 3, kHits, masks, {}, workers};
  index::Plan planned = index::plan(*snapshot, query);
  planned.workers = workers;
  Answer answer{std::vector<std::int64_t>(3 * kHits), std::vector<float>(3 * kHits), {}};
  for (std::size_t c = 0; c < snapshot->codes->size(); ++c) {
    const index::CodeChunk& codes = *(*snapshot->codes)[c];
    const std::size_t n = snapshot->rows_of_chunk(c);
    answer.facts.insert(answer.facts.end(), codes.high_facts.data(), codes.high_facts.data() + n);
    answer.facts.insert(answer.facts.end(), codes.facts.data(), codes.facts.data() + n);
  }
  const index::Sink sink = [&](std::size_t q, const std::vector<search::Hit>& hits) {
    for (std::size_t i = 0; i < hits.size(); ++i) {
      answer.ids[q * kHits + i] = hits[i].id;
      answer.scores[q * kHits + i] = hits[i].score;
    }
  };
  index::search(*snapshot, query, planned, sink, stop);
  return answer;
}

}  // namespace

TEST(the_state_inside_is_canonical_and_the_callers_comes_back) {
  for (const std::uint32_t word : {kDefault, kDefault | kFlush, kDefault | kUpward, kFlush | kToZero | kDefault}) {
    const Disturbed disturbed(word);
    {
      const FloatState state;
      CHECK_EQ(controls(), kDefault);
      {
        const FloatState nested;
        CHECK_EQ(controls(), kDefault);
      }
      CHECK_EQ(controls(), kDefault);
    }
    CHECK_EQ(controls(), word);
  }
}

TEST(the_state_comes_back_when_an_exception_leaves) {
  const Disturbed disturbed(kDefault | kFlush | kUpward);
  try {
    const FloatState state;
    throw 1;
  } catch (int) {
  }
  CHECK_EQ(controls(), kDefault | kFlush | kUpward);
}

TEST(workers_start_canonical_whatever_the_caller_has) {
  const Disturbed disturbed(kDefault | kFlush | kToZero);
  std::atomic<unsigned> started{0};
  std::atomic<unsigned> wrong{0};
  run_workers(3, [&](unsigned worker) {
    if (worker == 0) {
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
      while (started < 2 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    } else {
      if (controls() != kDefault) ++wrong;
      ++started;
    }
  });
  CHECK_EQ(started.load(), 2U);
  CHECK_EQ(wrong.load(), 0U);
  CHECK_EQ(controls(), kDefault | kFlush | kToZero);
}

// P5. Seen red with `const FloatState state;` taken out of index/flat.cpp, out of RowStore::copy_in, and out
// of start_codes.
TEST(ingest_and_search_give_the_same_bits_under_any_state) {
  for (const kernels::Metric& metric : kernels::kMetrics) {
    const check::Note note("metric ", metric.name);
    for (const Shape& shape : {Shape{300, 19, codecs::Codec::float32}, Shape{300, 19, codecs::Codec::float16},
                               Shape{300, 19, codecs::Codec::int8}, Shape{2200, 40, codecs::Codec::float32}}) {
      const check::Note of(codecs::facts(shape.codec).name, ", ", shape.rows, " rows");
      const Answer expected = ingest_and_search(metric, shape, 1);
      for (const std::uint32_t word : {kDefault | kFlush, kDefault | kUpward, kDefault | kFlush | kToZero}) {
        for (const unsigned workers : {1U, 3U}) {
          const Disturbed disturbed(word);
          const Answer answer = ingest_and_search(metric, shape, workers);
          CHECK_EQ(controls(), word);
          CHECK(answer.ids == expected.ids);
          CHECK(answer.facts == expected.facts);
          for (std::size_t i = 0; i < answer.scores.size(); ++i) CHECK_BITS(answer.scores[i], expected.scores[i]);
        }
      }
    }
  }
}

#else

TEST(rounding_mode_comes_back) {
  std::fesetround(FE_UPWARD);
  {
    const evidex::FloatState state;
    CHECK_EQ(std::fegetround(), FE_TONEAREST);
  }
  CHECK_EQ(std::fegetround(), FE_UPWARD);
  std::fesetround(FE_TONEAREST);
}

#endif
