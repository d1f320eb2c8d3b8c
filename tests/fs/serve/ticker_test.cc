// SPDX-License-Identifier: MIT
#include "fs/serve/ticker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace ndlfs::fs {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

void WaitUntil(const std::atomic<int>& count, int least) {
  while (count < least) std::this_thread::sleep_for(milliseconds(1));
}

TEST(TickerTest, CallsAgainAsOftenAsItIsTold) {
  std::atomic<int> calls = 0;
  Ticker ticker([&](Ticker::Clock::time_point) -> std::optional<Ticker::Clock::duration> {
    ++calls;
    return milliseconds(1);
  });
  WaitUntil(calls, 5);
}

TEST(TickerTest, SleepsUntilItIsWoken) {
  std::atomic<int> calls = 0;
  Ticker ticker([&](Ticker::Clock::time_point) -> std::optional<Ticker::Clock::duration> {
    ++calls;
    return std::nullopt;
  });
  WaitUntil(calls, 1);
  for (int i = 2; i < 50; ++i) {
    ticker.Wake({});
    WaitUntil(calls, i);
  }
}

TEST(TickerTest, IsWokenEarlierThanItWasTold) {
  std::atomic<int> calls = 0;
  Ticker ticker([&](Ticker::Clock::time_point) -> std::optional<Ticker::Clock::duration> {
    ++calls;
    return hours(1000);
  });
  WaitUntil(calls, 1);
  ticker.Wake(milliseconds(1));
  WaitUntil(calls, 2);
}

TEST(TickerTest, EndsWhileItSleeps) {
  Ticker never([](Ticker::Clock::time_point) -> std::optional<Ticker::Clock::duration> {
    return std::nullopt;
  });
  Ticker later([](Ticker::Clock::time_point) -> std::optional<Ticker::Clock::duration> {
    return hours(1000);
  });
}

}  // namespace
}  // namespace ndlfs::fs
