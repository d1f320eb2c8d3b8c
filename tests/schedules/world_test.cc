// SPDX-License-Identifier: MIT
//
// Whatever the order: all that is read from an open file, if nothing fails, is what the source
// held at one moment between the time of the open and that of the read (close-to-open); each
// listing shows what stays there, and nothing that never was; the chunk cache stays within its
// budget; and when all is quiet, everybody sees what is there.
#include "tests/schedules/world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/schedules/scheduler.h"
#include "tests/schedules/shrink.h"

namespace ndlfs::test {
namespace {

using std::chrono::seconds;

// NDLFS_WORLDS of them, for long runs.
uint64_t Worlds(uint64_t usual) {
  const char* const count = std::getenv("NDLFS_WORLDS");
  return count != nullptr ? std::strtoull(count, nullptr, 10) : usual;
}

Seen Live(const WorldOptions& options, uint64_t seed, const Plan& plan, uint64_t schedule) {
  Seen seen;
  RunSchedule(schedule, [&] { seen = MountedWorld(options, seed).Live(plan); });
  return seen;
}

// Fewer steps with which the world fails too, with the same schedule or another one.
std::string ShortestStory(const WorldOptions& options, uint64_t seed) {
  constexpr uint64_t kSchedules = 16;
  uint64_t schedule = seed;
  const auto fails_with = [&](const Plan& plan, uint64_t number) {
    return FailsInAChild([&] { return Live(options, seed, plan, number).failures.empty(); });
  };
  const Plan plan = Shrink<Step>(MakePlan(seed), [&](const Plan& fewer) {
    if (fails_with(fewer, schedule)) return true;
    for (uint64_t number = 1; number < kSchedules; ++number) {
      if (!fails_with(fewer, seed + number)) continue;
      schedule = seed + number;
      return true;
    }
    return false;
  });
  std::string story = "with schedule " + std::to_string(schedule) + " of these steps:\n";
  for (const Step& step : plan) story += "  " + step.ToText() + "\n";
  return story;
}

Seen ExpectWorld(const WorldOptions& options, uint64_t seed) {
  const std::string name = "NDLFS_SCHEDULE=" + std::to_string(seed);
  // A deadlock ends the process, and so is looked for in another one.
  const bool is_wanted = WantedSchedule().has_value();
  if (is_wanted && FailsInAChild([&] {
        return Live(options, seed, MakePlan(seed), seed).failures.empty();
      })) {
    ADD_FAILURE() << name << " fails, " << ShortestStory(options, seed);
  }
  Seen seen = Live(options, seed, MakePlan(seed), seed);
  for (const std::string& failure : seen.failures) {
    ADD_FAILURE() << failure << ", with " << name;
  }
  if (::testing::Test::HasFailure() && !is_wanted) {
    ADD_FAILURE() << "also " << ShortestStory(options, seed);
  }
  return seen;
}

void ExpectWorlds(const WorldOptions& options, uint64_t usual = 200) {
  if (const auto wanted = WantedSchedule()) {
    ExpectWorld(options, *wanted);
    return;
  }
  uint64_t reads = 0;
  uint64_t lists = 0;
  const uint64_t worlds = Worlds(usual);
  for (uint64_t seed = 1; seed <= worlds && !::testing::Test::HasFailure(); ++seed) {
    const Seen seen = ExpectWorld(options, seed);
    reads += seen.reads;
    lists += seen.lists;
  }
  // Not all of it is an error.
  EXPECT_GE(reads, worlds);
  EXPECT_GE(lists, worlds);
  std::printf("%llu worlds: %llu reads and %llu listings\n",
              static_cast<unsigned long long>(worlds), static_cast<unsigned long long>(reads),
              static_cast<unsigned long long>(lists));
}

TEST(WorldTest, EveryReadIsOfOneMoment) { ExpectWorlds({}); }

TEST(WorldTest, EveryReadIsOfOneMomentWhereTheSourceFails) { ExpectWorlds({.calm = 60}); }

TEST(WorldTest, LooksAreTrustedForTheirTime) {
  ExpectWorlds({.revalidate = seconds(1), .calm = 100});
}

#if NDLFS_WITH_HTTP

TEST(WorldTest, EveryReadIsOfOneMomentOfABucket) { ExpectWorlds({WorldPlace::kBucket}, 60); }

// The mount opens the file by an answer from the beginning, and at 1.95 seconds takes another
// one, which is from before a change at 1.1 seconds. At 2.5 seconds that is too old, too.
TEST(WorldTest, TimesOfMemoriesDoNotAddUp) {
  using Kind = Step::Kind;
  constexpr uint64_t kTheFile = 10;  // "n.npy"
  const Plan plan = {
      {1, Kind::kList, 0},        {1, Kind::kWait, 1050},      {1, Kind::kList, 0},
      {0, Kind::kWait, 900},      {0, Kind::kOpen, kTheFile},  {0, Kind::kWait, 1050},
      {0, Kind::kOpen, kTheFile}, {0, Kind::kWait, 550},       {0, Kind::kOpen, kTheFile},
      {0, Kind::kRead, 0},        {kUsers, Kind::kWait, 1100}, {kUsers, Kind::kWriteFile, 1}};
  for (const auto place : {WorldPlace::kBucket, WorldPlace::kBucketWithBlockCache}) {
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      const Seen seen = Live({place, seconds(1)}, seed, plan, seed);
      EXPECT_THAT(seen.failures, ::testing::IsEmpty()) << "with schedule " << seed;
      EXPECT_EQ(seen.reads, 1u);
    }
  }
}

TEST(WorldTest, EveryReadIsOfOneMomentOfABucketThatFails) {
  ExpectWorlds({WorldPlace::kBucket, seconds(1), 20}, 60);
}

TEST(WorldTest, EveryReadIsOfOneMomentOfABucketWithABlockCache) {
  ExpectWorlds({WorldPlace::kBucketWithBlockCache, seconds(1), 20}, 60);
}

#endif

}  // namespace
}  // namespace ndlfs::test
