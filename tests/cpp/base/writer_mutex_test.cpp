// SPDX-License-Identifier: Apache-2.0
#include "base/writer_mutex.hpp"

#include <mutex>
#include <thread>
#include <vector>

#include "check.hpp"

using evidex::InvalidInput;
using evidex::WriterMutex;

TEST(threads_exclude_each_other) {
  WriterMutex mutex;
  std::size_t count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        const std::lock_guard lock(mutex);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQ(count, 8000U);
}

TEST(the_same_thread_is_refused_and_keeps_what_it_holds) {
  WriterMutex mutex;
  {
    const std::lock_guard outer(mutex);
    for (int i = 0; i < 3; ++i)
      CHECK_THROWS(const std::lock_guard inner(mutex), InvalidInput, "on this thread already");
  }
  const std::lock_guard again(mutex);
}
