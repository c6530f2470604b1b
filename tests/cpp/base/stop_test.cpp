// SPDX-License-Identifier: Apache-2.0
#include "base/stop.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include "check.hpp"

using evidex::Stop;

namespace {

constexpr std::chrono::milliseconds kPastInterval{25};

}  // namespace

TEST(without_a_poll_nothing_is_ever_requested) {
  Stop stop;
  std::this_thread::sleep_for(kPastInterval);
  CHECK(!stop.requested());
  stop.throw_if_requested();
}

TEST(the_outside_world_is_asked_once_in_a_while) {
  int asked = 0;
  Stop stop([&] {
    ++asked;
    return false;
  });
  for (int i = 0; i < 1000; ++i) CHECK(!stop.requested());
  CHECK(asked <= 5);  // 20 ms apart; a slow machine may see a few
  std::this_thread::sleep_for(kPastInterval);
  const int before = asked;
  CHECK(!stop.requested());
  CHECK_EQ(asked, before + 1);
}

TEST(a_request_stays) {
  bool wanted = true;
  int asked = 0;
  Stop stop([&] {
    ++asked;
    return wanted;
  });
  std::this_thread::sleep_for(kPastInterval);
  CHECK(stop.requested());
  wanted = false;
  CHECK(stop.requested());
  CHECK_EQ(asked, 1);
  CHECK_THROWS(stop.throw_if_requested(), evidex::Cancelled, "interrupted");
}

TEST(only_the_constructing_thread_asks_and_every_thread_hears) {
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<bool> elsewhere{false};
  Stop stop([&] {
    if (std::this_thread::get_id() != caller) elsewhere = true;
    return true;
  });
  std::this_thread::sleep_for(kPastInterval);
  bool heard = true;
  std::thread([&] { heard = stop.requested(); }).join();
  CHECK(!heard);
  CHECK(stop.requested());
  std::thread([&] { heard = stop.requested(); }).join();
  CHECK(heard);
  CHECK(!elsewhere);
}
