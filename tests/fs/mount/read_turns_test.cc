// SPDX-License-Identifier: MIT
#include "fs/mount/read_turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

namespace ndlfs::fs {
namespace {

using ::testing::ElementsAre;

TEST(ReadTurnsTest, WhatIsAskedForMeanwhileRunsOnTheSameThread) {
  ReadTurns turns(1);
  std::vector<int> order;
  turns.Run(7, [&] {
    turns.Run(7, [&] { order.push_back(2); });
    order.push_back(1);
  });
  EXPECT_THAT(order, ElementsAre(1, 2));
}

TEST(ReadTurnsTest, UsersTakeTurns) {
  ReadTurns turns(1);
  std::vector<int> users;
  const auto ask = [&](uid_t user) {
    turns.Run(user, [&users, user] { users.push_back(static_cast<int>(user)); });
  };
  turns.Run(5, [&] {
    for (int i = 0; i < 4; ++i) ask(5);
    ask(3);
    ask(3);
    ask(9);
  });
  EXPECT_THAT(users, ElementsAre(3, 5, 9, 3, 5, 5, 5));
}

TEST(ReadTurnsTest, SomeRunAtOnceAndNoThreadWaits) {
  ReadTurns turns(2);
  std::latch both_run(2);
  std::latch third_is_asked_for(1);
  std::atomic<int> done = 0;
  const auto read = [&] {
    both_run.arrive_and_wait();
    third_is_asked_for.wait();
    ++done;
  };
  std::thread first([&] { turns.Run(1, read); });
  std::thread second([&] { turns.Run(1, read); });
  both_run.wait();
  turns.Run(2, [&] { ++done; });  // comes back while both are at it
  EXPECT_EQ(done, 0);
  third_is_asked_for.count_down();
  first.join();
  second.join();
  EXPECT_EQ(done, 3);
}

TEST(ReadTurnsTest, ManyThreadsAskForManyReads) {
  constexpr int kThreads = 8;
  constexpr int kReads = 2000;
  ReadTurns turns(3);
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  std::atomic<int> done = 0;
  const auto read = [&] {
    const int now = ++running;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
    ++done;
    --running;
  };
  std::vector<std::thread> threads;
  for (uid_t user = 0; user < kThreads; ++user) {
    threads.emplace_back([&, user] {
      for (int i = 0; i < kReads; ++i) turns.Run(user, read);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, kThreads * kReads);
  EXPECT_LE(most, 3);
}

// Reads that only wait for a source keep no others from waiting too.
TEST(ReadTurnsTest, MoreRunWhereTheSourceIsSlow) {
  constexpr int kMost = 5;
  std::atomic<int> done = 0;
  ReadTurns turns(1, [] { return unsigned{kMost}; });
  std::latch all_run(kMost);
  std::thread caller([&] {
    turns.Run(1, [&] {
      for (int i = 1; i < kMost; ++i) {
        turns.Run(2, [&] {
          all_run.arrive_and_wait();
          ++done;
        });
      }
      all_run.arrive_and_wait();
      ++done;
    });
  });
  caller.join();
  turns.Finish();
  EXPECT_EQ(done, kMost);
}

TEST(ReadTurnsTest, FinishWaitsForAllReadsAndNoThreadRunsAnyLater) {
  std::atomic<int> done = 0;
  ReadTurns turns(1, [] { return 3u; });
  std::latch go(1);
  std::latch runs(1);
  std::thread caller([&] {
    turns.Run(1, [&] {
      runs.count_down();
      go.wait();
    });
  });
  runs.wait();
  for (int i = 0; i < 50; ++i) {
    turns.Run(2, [&] {
      go.wait();
      ++done;
    });
    if (i == 0) go.count_down();
  }
  caller.join();
  turns.Finish();
  EXPECT_EQ(done, 50);
  turns.Run(2, [&] { ++done; });
  EXPECT_EQ(done, 51) << "on the thread of the caller";
}

}  // namespace
}  // namespace ndlfs::fs
