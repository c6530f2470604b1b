// SPDX-License-Identifier: Apache-2.0
#include "base/aligned_buffer.hpp"

#include <cstdint>
#include <limits>
#include <new>
#include <utility>

#include "check.hpp"

using evidex::AlignedBuffer;

namespace {

std::uintptr_t address(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

}  // namespace

TEST(small_buffers_lie_on_cache_lines_and_large_ones_on_huge_pages) {
  for (const std::size_t size : {1U, 3U, 64U, 1000U, 4096U, (2U << 20) - 1}) {
    AlignedBuffer<std::uint8_t> buffer(size);
    CHECK_EQ(buffer.size(), size);
    CHECK_EQ(address(buffer.data()) % 64, 0U);
    buffer[0] = 1;
    buffer[size - 1] = 2;
    CHECK_EQ(buffer[size - 1], 2);
  }
  AlignedBuffer<double> large((2U << 20) / sizeof(double) + 5);
  CHECK_EQ(address(large.data()) % (2U << 20), 0U);
  large[large.size() - 1] = 4.0;
  CHECK(large[large.size() - 1] == 4.0);
}

TEST(an_empty_buffer_owns_nothing) {
  const AlignedBuffer<float> none;
  const AlignedBuffer<float> zero(0);
  CHECK(none.data() == nullptr && none.size() == 0);
  CHECK(zero.data() == nullptr && zero.size() == 0);
}

TEST(moving_hands_the_storage_over) {
  AlignedBuffer<int> a(100);
  a[7] = 42;
  const int* where = a.data();
  AlignedBuffer<int> b(std::move(a));
  CHECK(b.data() == where && b[7] == 42 && b.size() == 100);
  AlignedBuffer<int> c(5);
  c = std::move(b);
  CHECK(c.data() == where && c[7] == 42 && c.size() == 100);
}

TEST(a_size_that_overflows_bytes_is_refused) {
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  const auto make = [](std::size_t size) { const AlignedBuffer<std::int64_t> buffer(size); };
  for (const std::size_t size : {kMost, kMost / 8, kMost / 8 + 1, kMost / 8 - 100}) {
    CHECK_THROWS(make(size), std::bad_alloc, "");
  }
}
