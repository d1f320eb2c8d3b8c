// SPDX-License-Identifier: MIT
//
// The scheduler finds what it is for.
#include "tests/schedules/scheduler.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "model/mutex.h"
#include "tests/schedules/run_together.h"

namespace ndlfs::test {
namespace {

using std::chrono::hours;
using Clock = std::chrono::steady_clock;

// Two threads that read, let another thread go on, and write.
void AddWithoutALock(int& sum) {
  model::Mutex mutex;
  const auto add = [&] {
    int read = 0;
    {
      const model::MutexLock lock(mutex);
      read = sum;
    }
    const model::MutexLock lock(mutex);
    sum = read + 1;
  };
  RunTogether({add, add});
}

TEST(SchedulerTest, TriesAllOrdersOfTwoThreads) {
  std::set<std::string> orders;
  const uint64_t count = ForAllSchedules(4, 100'000, [&] {
    model::Mutex mutex;
    std::string order;
    const auto write = [&](char letter) {
      for (int i = 0; i < 2; ++i) {
        const model::MutexLock lock(mutex);
        order += letter;
      }
    };
    RunTogether({[&] { write('a'); }, [&] { write('b'); }});
    orders.insert(order);
  });
  EXPECT_EQ(orders.size(), 6u);
  EXPECT_LT(count, 100'000u);
}

TEST(SchedulerTest, FindsALostUpdate) {
  std::set<int> sums;
  ForAllSchedules(1, 100'000, [&] {
    int sum = 0;
    AddWithoutALock(sum);
    sums.insert(sum);
  });
  EXPECT_EQ(sums, std::set<int>({1, 2}));
}

TEST(SchedulerTest, RandomSchedulesFindItTooAndRepeatThemselves) {
  const auto run = [] {
    std::vector<int> sums;
    ForRandomSchedules(200, [&] {
      int sum = 0;
      AddWithoutALock(sum);
      sums.push_back(sum);
    });
    return sums;
  };
  const std::vector<int> sums = run();
  EXPECT_EQ(std::set<int>(sums.begin(), sums.end()), std::set<int>({1, 2}));
  EXPECT_EQ(run(), sums);
}

TEST(SchedulerTest, TimePassesOnlyWhileAllWait) {
  const auto real_begin = std::chrono::system_clock::now();
  ForAllSchedules(2, 1000, [] {
    model::Mutex mutex;
    model::CondVar changed;
    bool done = false;
    const auto begin = Clock::now();
    RunTogether({[&] {
                   const model::MutexLock lock(mutex);
                   while (!done) changed.WaitFor(mutex, hours(20));
                 },
                 [&] {
                   std::this_thread::sleep_for(hours(1));
                   const model::MutexLock lock(mutex);
                   done = true;
                   changed.NotifyAll();
                 }});
    EXPECT_GE(Clock::now() - begin, hours(1));
    EXPECT_LT(Clock::now() - begin, hours(2));
  });
  EXPECT_LT(std::chrono::system_clock::now() - real_begin, hours(1));
}

TEST(SchedulerDeathTest, FindsLocksInDifferentOrder) {
  const auto scenario = [] {
    model::Mutex first;
    model::Mutex second;
    const auto lock = [](model::Mutex& a, model::Mutex& b) {
      const model::MutexLock outer(a);
      const model::MutexLock inner(b);
    };
    RunTogether({[&] { lock(first, second); }, [&] { lock(second, first); }});
  };
  EXPECT_DEATH(ForAllSchedules(1, 100'000, scenario), "deadlock in schedule [0-9]+: .*wants a");
  EXPECT_DEATH(ForRandomSchedules(1000, scenario), "deadlock in NDLFS_SCHEDULE=[0-9]+:");
}

TEST(SchedulerDeathTest, FindsALostWakeUp) {
  EXPECT_DEATH(ForAllSchedules(1, 100'000,
                               [] {
                                 model::Mutex mutex;
                                 model::CondVar changed;
                                 RunTogether({[&] {
                                                const model::MutexLock lock(mutex);
                                                changed.Wait(mutex);  // for what has been
                                              },
                                              [&] { changed.NotifyAll(); }});
                               }),
               "deadlock in schedule [0-9]+: .*waits");
}

TEST(SchedulerDeathTest, FindsAThreadThatTurnsForEver) {
  EXPECT_DEATH(ForRandomSchedules(1,
                                  [] {
                                    for (;;) std::this_thread::yield();
                                  }),
               "no end in NDLFS_SCHEDULE=1");
}

}  // namespace
}  // namespace ndlfs::test
