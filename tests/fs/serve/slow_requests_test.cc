// SPDX-License-Identifier: MIT
#include "fs/serve/slow_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ndlfs::fs {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SlowRequestsTest : public ::testing::Test {
 protected:
  void Answer(const std::string& path, milliseconds time) {
    if (!slow_.IsSlow(time, now_)) return;
    slow_.Note({.kind = "read",
                .path = path,
                .time = time,
                .answered = now_,
                .caller = backends::CallerScope::Current()});
  }
  std::vector<std::string> Paths() const {
    std::vector<std::string> paths;
    for (const SlowRequest& request : slow_.Find(now_)) paths.push_back(request.path);
    return paths;
  }

  SlowRequests slow_;
  SlowRequests::Clock::time_point now_{std::chrono::hours(100)};
};

TEST_F(SlowRequestsTest, TheSlowestComeFirstAndQuickOnesAreLeftOut) {
  Answer("/quick", milliseconds(9));
  Answer("/slow", milliseconds(20));
  Answer("/slowest", milliseconds(900));
  Answer("/slower", milliseconds(30));
  EXPECT_THAT(Paths(), ElementsAre("/slowest", "/slower", "/slow"));
}

TEST_F(SlowRequestsTest, OfManyOnlyTheSlowestStay) {
  for (int i = 1; i <= 100; ++i) Answer(std::to_string(i), milliseconds(20 + i * 37 % 101));
  const auto found = slow_.Find(now_);
  ASSERT_THAT(found, SizeIs(SlowRequests::kKept));
  EXPECT_EQ(found.front().time, milliseconds(120));
  EXPECT_EQ(found.back().time, milliseconds(105));
  EXPECT_FALSE(slow_.IsSlow(milliseconds(105), now_));
  EXPECT_TRUE(slow_.IsSlow(milliseconds(106), now_));
}

TEST_F(SlowRequestsTest, OldOnesMakeRoomForQuickerOnes) {
  for (int i = 0; i < 20; ++i) Answer("/old", milliseconds(1000));
  now_ += minutes(4);
  Answer("/not among them", milliseconds(500));
  EXPECT_THAT(Paths(), SizeIs(SlowRequests::kKept));
  now_ += minutes(2);
  Answer("/new", milliseconds(11));
  EXPECT_THAT(Paths(), SizeIs(SlowRequests::kKept + 1)) << "the window before counts, too";
  EXPECT_EQ(Paths().back(), "/new");
  now_ += minutes(5);
  EXPECT_THAT(Paths(), ElementsAre("/new"));
  Answer("/newer", milliseconds(12));
  EXPECT_THAT(Paths(), ElementsAre("/newer", "/new"));
  now_ += minutes(30);
  EXPECT_THAT(Paths(), IsEmpty());
  Answer("/newest", milliseconds(12));
  EXPECT_THAT(Paths(), ElementsAre("/newest"));
}

TEST_F(SlowRequestsTest, ACallerSeesItsOwnOnly) {
  const auto ann = std::make_shared<const backends::Caller>(
      backends::Caller{.uid = 1000, .gid = 1000, .groups = {}, .id = 1});
  const auto bob = std::make_shared<const backends::Caller>(
      backends::Caller{.uid = 1001, .gid = 1001, .groups = {}, .id = 2});
  {
    const backends::CallerScope scope(ann);
    Answer("/of ann", milliseconds(30));
  }
  {
    const backends::CallerScope scope(bob);
    Answer("/of bob", milliseconds(20));
    EXPECT_THAT(Paths(), ElementsAre("/of bob"));
  }
  Answer("/of nobody", milliseconds(10));
  EXPECT_THAT(Paths(), ElementsAre("/of ann", "/of bob", "/of nobody"))
      << "the user who mounts";
  const backends::CallerScope scope(backends::SelfAsCaller());
  EXPECT_THAT(Paths(), SizeIs(3)) << "root";
}

}  // namespace
}  // namespace ndlfs::fs
