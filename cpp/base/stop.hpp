// SPDX-License-Identifier: Apache-2.0
// How a long call learns that it should stop. All workers read one flag between blocks; only the
// thread that made the call asks the outside world (a signal check), and only every few
// milliseconds, because asking may need a lock that others hold.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include "base/error.hpp"

namespace evidex {

class Stop {
 public:
  using Poll = std::function<bool()>;

  /// `poll` returns true when the call should stop; it runs on the constructing thread only.
  explicit Stop(Poll poll = {}) : poll_(std::move(poll)), caller_(std::this_thread::get_id()) {}

  /// Cheap enough to be called per block.
  bool requested() {
    if (flag_.load(std::memory_order_relaxed)) return true;
    if (!poll_ || std::this_thread::get_id() != caller_) return false;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return false;
    next_ = now + kInterval;
    if (poll_()) flag_.store(true, std::memory_order_relaxed);
    return flag_.load(std::memory_order_relaxed);
  }

  void throw_if_requested() {
    if (requested()) throw Cancelled("the call was interrupted; nothing was changed");
  }

 private:
  static constexpr std::chrono::milliseconds kInterval{20};

  Poll poll_;
  std::thread::id caller_;
  std::atomic<bool> flag_{false};
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + kInterval;
};

}  // namespace evidex
