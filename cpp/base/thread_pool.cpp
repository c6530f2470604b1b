// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.hpp"

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/float_state.hpp"

namespace evidex {
namespace {

/// One call's helpers: handed out by the pool, waited for by the caller.
struct Job {
  const std::function<void(unsigned)>* body;
  unsigned next = 1;     // number of the next helper to start
  unsigned end;          // one past the last helper
  unsigned running = 0;  // helpers inside `body` now
  std::exception_ptr error;
};

class Pool {
 public:
  explicit Pool(pid_t owner) : owner_(owner) {}

  pid_t owner() const noexcept { return owner_; }

  void run(unsigned workers, const std::function<void(unsigned)>& body) {
    Job job{&body, 1, workers, 0, nullptr};
    {
      const std::lock_guard lock(mutex_);
      grow(workers - 1);
      queue_.push_back(&job);
    }
    work_.notify_all();
    std::exception_ptr error;
    try {
      body(0);
    } catch (...) {
      error = std::current_exception();
    }
    std::unique_lock lock(mutex_);
    std::erase(queue_, &job);  // helpers not started yet have nothing left to do
    idle_.wait(lock, [&] { return job.running == 0; });
    if (!error) error = job.error;
    lock.unlock();
    if (error) std::rethrow_exception(error);
  }

  std::size_t size() {
    const std::lock_guard lock(mutex_);
    return threads_.size();
  }

 private:
  void grow(std::size_t wanted) {
    if (threads_.size() >= wanted) return;
    // Signals belong to the application's threads: workers start with all of them blocked.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      while (threads_.size() < wanted) threads_.emplace_back([this] { serve(); });
    } catch (...) {
      // The system refuses more threads: the call goes on with those there are.
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      work_.wait(lock, [&] { return !queue_.empty(); });
      Job& job = *queue_.front();
      const unsigned worker = job.next++;
      if (job.next >= job.end) queue_.pop_front();
      ++job.running;
      lock.unlock();
      std::exception_ptr error;
      try {
        const FloatState state;
        (*job.body)(worker);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      if (error && !job.error) job.error = error;
      if (--job.running == 0) idle_.notify_all();
    }
  }

  const pid_t owner_;
  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable idle_;
  std::deque<Job*> queue_;
  std::vector<std::thread> threads_;
};

/// Pools are never destroyed: their threads sleep until the process ends, and at exit or after a
/// fork there is no moment at which joining them would be safe. No lock guards the creation, since a
/// lock could be held by another thread at the moment of a fork.
Pool& pool() {
  static std::atomic<Pool*> current{nullptr};
  const pid_t self = getpid();
  Pool* found = current.load(std::memory_order_acquire);
  while (found == nullptr || found->owner() != self) {
    auto fresh = std::make_unique<Pool>(self);
    if (current.compare_exchange_strong(found, fresh.get(), std::memory_order_acq_rel)) return *fresh.release();
  }
  return *found;
}

}  // namespace

void run_workers(unsigned workers, const std::function<void(unsigned)>& body) {
  if (workers <= 1) {
    body(0);
  } else {
    pool().run(workers, body);
  }
}

std::size_t pool_threads() { return pool().size(); }

}  // namespace evidex
