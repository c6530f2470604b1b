// SPDX-License-Identifier: Apache-2.0
// A mutex that refuses re-entry. A write polls for signals, and a signal handler (or a finaliser run
// by it) may try to write to the same object on the same thread: an error then, not a deadlock.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>

#include "base/error.hpp"

namespace evidex {

class WriterMutex {
 public:
  void lock() {
    if (owner_.load(std::memory_order_relaxed) == std::this_thread::get_id()) {
      throw InvalidInput("a write to this index is running on this thread already; do not write from a signal handler");
    }
    mutex_.lock();
    owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  }
  void unlock() {
    owner_.store(std::thread::id(), std::memory_order_relaxed);
    mutex_.unlock();
  }

 private:
  std::mutex mutex_;
  std::atomic<std::thread::id> owner_{};
};

}  // namespace evidex
