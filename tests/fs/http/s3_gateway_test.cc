// SPDX-License-Identifier: MIT
#include "fs/http/s3_gateway.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

namespace ndlfs::fs {
namespace {

using Clock = KeyRun::Clock;
using std::chrono::hours;

KeyRuns::Ptr RunTo(const std::string& last) {
  return std::make_shared<KeyRun>(KeyRun{.entries = {{last, S_IFREG}}});
}

TEST(KeyRunsTest, RequestsThatComeTogetherShareOneLook) {
  constexpr int kThreads = 8;
  KeyRuns runs;
  std::atomic<int> made = 0;
  std::latch have_begun(kThreads);
  const auto ask = [&] {
    have_begun.count_down();
    const auto run =
        runs.FindOrMake("folder", "", hours(1), [&]() -> model::Result<KeyRuns::Ptr> {
          have_begun.wait();
          std::this_thread::sleep_for(std::chrono::milliseconds(100));
          ++made;
          return RunTo("k");
        });
    ASSERT_TRUE(run);
    EXPECT_EQ((*run)->entries[0].key, "k");
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back(ask);
  }
  EXPECT_LT(made, kThreads);  // each that has begun to ask before the first one had ended
  const auto fresh = runs.FindOrMake("folder", "", {}, [] { return RunTo("l"); });
  EXPECT_EQ((*fresh)->entries[0].key, "l") << "a short run is not kept";
}

TEST(KeyRunsTest, AThreadThatFailsLeavesTheLookToOneThatHasWaited) {
  KeyRuns runs;
  std::latch has_begun(1);
  std::jthread first([&] {
    const auto run =
        runs.FindOrMake("folder", "", hours(1), [&]() -> model::Result<KeyRuns::Ptr> {
          has_begun.count_down();
          std::this_thread::sleep_for(std::chrono::milliseconds(50));
          return model::NotFound("gone");
        });
    EXPECT_FALSE(run);
  });
  has_begun.wait();
  const auto run = runs.FindOrMake("folder", "", hours(1), [] { return RunTo("k"); });
  ASSERT_TRUE(run);
  EXPECT_EQ((*run)->entries[0].key, "k");
}

TEST(KeyRunsTest, OnlyYoungLongRunsThatGoOnAreFoundAgain) {
  KeyRuns runs;
  int made = 0;
  const auto make = [&]() -> model::Result<KeyRuns::Ptr> {
    ++made;
    auto run = std::make_shared<KeyRun>();
    for (int i = 10'000; i < 11'500; ++i) run->entries.push_back({std::to_string(i), S_IFREG});
    run->is_all = false;
    return run;
  };
  for (const auto& [after, age, looks] : {std::tuple("", Clock::duration(hours(1)), 1),
                                          {"10999", hours(1), 1},
                                          {"10999", {}, 2},
                                          {"11499", hours(1), 3}}) {
    ASSERT_TRUE(runs.FindOrMake("folder", after, age, make));
    EXPECT_EQ(made, looks) << after;
  }
  ASSERT_TRUE(runs.FindOrMake("other", "", hours(1), make));
  EXPECT_EQ(made, 4);
}

}  // namespace
}  // namespace ndlfs::fs
