// SPDX-License-Identifier: Apache-2.0
// P11. Seen red with: the pool's owner not compared with the process, run() not waiting for its workers,
// workers started with open signals.
#include "base/thread_pool.hpp"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>
#include <vector>

#include "check.hpp"

#if defined(__has_feature)
#define EVIDEX_HAS_FEATURE(x) __has_feature(x)
#else
#define EVIDEX_HAS_FEATURE(x) 0
#endif
#if defined(__SANITIZE_THREAD__) || EVIDEX_HAS_FEATURE(thread_sanitizer)
#define EVIDEX_MAY_FORK 0  // that sanitizer supports no new threads in a forked child
#else
#define EVIDEX_MAY_FORK 1
#endif

using evidex::pool_threads;
using evidex::run_workers;

namespace {

/// Waits, but not for ever: a pool that starts no thread must fail a test, not hang it.
template <class Condition>
bool soon(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

/// Every item taken from one counter, each exactly once.
bool does_all(unsigned workers, std::size_t items) {
  std::vector<std::atomic<int>> done(items);
  std::atomic<std::size_t> next{0};
  run_workers(workers, [&](unsigned) {
    for (std::size_t i = next++; i < items; i = next++) ++done[i];
  });
  for (const auto& count : done) {
    if (count != 1) return false;
  }
  return true;
}

}  // namespace

TEST(one_worker_touches_no_thread) {  // first: the pool is still empty
  for (const unsigned workers : {0U, 1U}) {
    const auto caller = std::this_thread::get_id();
    int calls = 0;
    run_workers(workers, [&](unsigned worker) {
      ++calls;
      CHECK_EQ(worker, 0U);
      CHECK(std::this_thread::get_id() == caller);
    });
    CHECK_EQ(calls, 1);
  }
  CHECK_EQ(pool_threads(), 0U);
  CHECK_THROWS(run_workers(1, [](unsigned) { throw std::runtime_error("alone"); }), std::runtime_error, "alone");
}

TEST(all_work_is_done_once) {
  for (const unsigned workers : {1U, 2U, 3U, 8U}) {
    for (const std::size_t items : {0U, 1U, 7U, 1000U}) {
      const evidex::check::Note note(workers, " workers, ", items, " items");
      CHECK(does_all(workers, items));
    }
  }
}

TEST(more_workers_than_work_or_processors) {
  CHECK(does_all(40, 3));
  CHECK(does_all(40, 500));
}

TEST(worker_numbers_are_distinct_and_below_the_count) {
  constexpr unsigned kWorkers = 4;
  std::vector<std::atomic<int>> seen(kWorkers);
  std::atomic<unsigned> arrived{0};
  run_workers(kWorkers, [&](unsigned worker) {
    ++seen[worker];
    ++arrived;
    if (worker == 0) CHECK(soon([&] { return arrived == kWorkers; }));
  });
  for (const auto& count : seen) CHECK_EQ(count.load(), 1);
}

TEST(threads_are_kept_and_used_again) {
  CHECK(does_all(5, 100));
  const std::size_t before = pool_threads();
  CHECK(before >= 4);
  for (int i = 0; i < 200; ++i) CHECK(does_all(5, 20));
  CHECK_EQ(pool_threads(), before);
}

TEST(an_exception_of_the_caller_waits_for_the_other_workers) {
  std::atomic<bool> started{false};
  std::atomic<bool> ended{false};
  const auto body = [&](unsigned worker) {
    if (worker == 0) {
      (void)soon([&] { return started.load(); });
      throw std::runtime_error("from worker 0");
    }
    started = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ended = true;
  };
  CHECK_THROWS(run_workers(2, body), std::runtime_error, "from worker 0");
  CHECK(started && ended);
}

TEST(an_exception_of_another_worker_reaches_the_caller) {
  std::atomic<bool> thrown{false};
  const auto body = [&](unsigned worker) {
    if (worker == 0) {
      (void)soon([&] { return thrown.load(); });
    } else {
      thrown = true;
      throw std::out_of_range("from another worker");
    }
  };
  CHECK_THROWS(run_workers(3, body), std::out_of_range, "from another worker");
  CHECK(does_all(3, 100));
}

TEST(several_threads_may_call_at_once_and_bodies_may_call_again) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        if (!does_all(3, 40)) ++wrong;
      }
      run_workers(2, [&](unsigned) {
        if (!does_all(3, 40)) ++wrong;
      });
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK_EQ(wrong.load(), 0);
}

TEST(pool_threads_take_no_signals) {
  std::atomic<int> open{-1};
  run_workers(2, [&](unsigned worker) {
    if (worker == 0) {
      (void)soon([&] { return open >= 0; });
    } else {
      sigset_t blocked;
      pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
      open = (sigismember(&blocked, SIGINT) == 1 && sigismember(&blocked, SIGTERM) == 1) ? 0 : 1;
    }
  });
  CHECK_EQ(open.load(), 0);
  sigset_t own;
  pthread_sigmask(SIG_SETMASK, nullptr, &own);
  CHECK_EQ(sigismember(&own, SIGINT), 0);
}

#if EVIDEX_MAY_FORK
TEST(a_forked_child_starts_its_own_pool) {
  CHECK(does_all(3, 100));
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(30);  // a child that waits for threads it does not have must end
    const bool fresh = pool_threads() == 0;
    const bool works = does_all(3, 100) && pool_threads() == 2;
    pid_t grandchild = fork();
    if (grandchild == 0) _exit(does_all(2, 50) && pool_threads() == 1 ? 0 : 1);
    int inner = 1;
    waitpid(grandchild, &inner, 0);
    _exit((fresh ? 0 : 1) | (works ? 0 : 2) | (inner == 0 ? 0 : 4));
  }
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK(WIFEXITED(status));
  CHECK_EQ(WEXITSTATUS(status), 0);
  CHECK(does_all(3, 100));
}
#endif
