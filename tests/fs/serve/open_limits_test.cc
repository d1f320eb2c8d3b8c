// SPDX-License-Identifier: MIT
#include "fs/serve/open_limits.h"

#include <gtest/gtest.h>

#include <vector>

namespace ndlfs::fs {
namespace {

using Places = std::vector<OpenLimits::Place>;

// Opens files until no more can be opened; how many.
size_t OpenAll(OpenLimits& limits, uid_t user, Places& places) {
  size_t count = 0;
  while (auto place = limits.Take(user)) {
    places.push_back(*std::move(place));
    ++count;
  }
  return count;
}

bool OpenAndKeep(OpenLimits& limits, uid_t user, Places& places, KeptObjects objects) {
  auto place = limits.Take(user);
  if (!place || !place->Keep(std::move(objects))) return false;
  places.push_back(*std::move(place));
  return true;
}

TEST(OpenLimitsTest, OneUserLeavesFilesToOthers) {
  OpenLimits limits({.shared = true, .most_open = 100, .most_bytes = 100});
  Places ann, bob, eve;
  EXPECT_EQ(OpenAll(limits, 1, ann), 75u);
  EXPECT_EQ(OpenAll(limits, 2, bob), 19u);
  EXPECT_GE(OpenAll(limits, 3, eve), 4u);
  EXPECT_EQ(limits.stats().refused, 3u);
}

TEST(OpenLimitsTest, ClosedFilesMakeRoom) {
  OpenLimits limits({.shared = true, .most_open = 8, .most_bytes = 100});
  Places places;
  ASSERT_EQ(OpenAll(limits, 1, places), 6u);
  places.pop_back();
  EXPECT_TRUE(limits.Take(1));
  places.clear();
  EXPECT_EQ(OpenAll(limits, 1, places), 6u);
}

TEST(OpenLimitsTest, MemoryOfOneUserIsLimitedAndThatOfOthersIsNot) {
  OpenLimits limits({.shared = true, .most_open = 1000, .most_bytes = 1600});
  Places ann, bob;
  std::vector<int> objects(1000);
  size_t kept = 0;
  while (OpenAndKeep(limits, 1, ann, {{&objects[kept], 100}})) ++kept;
  EXPECT_EQ(kept, 12u);
  EXPECT_EQ(limits.stats().bytes, 1200u);
  EXPECT_TRUE(OpenAndKeep(limits, 2, bob, {{&objects[500], 100}}));
  EXPECT_EQ(limits.stats().refused, 1u);
  ann.pop_back();
  EXPECT_EQ(limits.stats().bytes, 1200u);
  ann.clear();
  bob.clear();
  EXPECT_EQ(limits.stats().bytes, 0u);
}

TEST(OpenLimitsTest, AnObjectThatManyFilesKeepCountsOnce) {
  OpenLimits limits({.shared = true, .most_open = 1000, .most_bytes = 1000});
  Places places;
  const int text = 0;
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(OpenAndKeep(limits, 1, places, {{&text, 600}}));
  EXPECT_EQ(limits.stats().bytes, 600u);
  while (places.size() > 1) places.pop_back();
  EXPECT_EQ(limits.stats().bytes, 600u);
  places.clear();
  EXPECT_EQ(limits.stats().bytes, 0u);
}

TEST(OpenLimitsTest, OneFileMayKeepMoreThanThereIs) {
  OpenLimits limits({.shared = true, .most_open = 1000, .most_bytes = 1600});
  Places ann, bob;
  const int huge = 0, more = 0, small = 0, other = 0;
  EXPECT_TRUE(OpenAndKeep(limits, 1, ann, {{&huge, 5000}}));
  EXPECT_FALSE(OpenAndKeep(limits, 1, ann, {{&more, 1}}));
  EXPECT_TRUE(OpenAndKeep(limits, 2, bob, {{&small, 50}}));
  EXPECT_TRUE(OpenAndKeep(limits, 2, bob, {{&other, 50}}));  // a sixteenth is always his
}

TEST(OpenLimitsTest, ManyUsersHaveTwiceAsMuchTogether) {
  OpenLimits limits({.shared = true, .most_open = 1000, .most_bytes = 1600});
  std::vector<int> objects(100);
  Places places;
  for (uid_t user = 0; user < 100; ++user)
    OpenAndKeep(limits, user, places, {{&objects[user], 200}});
  EXPECT_LE(limits.stats().bytes, 3400U);
  EXPECT_TRUE(OpenAndKeep(limits, 100, places, {{&objects[0], 30}}));
}

TEST(OpenLimitsTest, AMountForOneUserHasNoLimits) {
  OpenLimits limits({.shared = false, .most_open = 1, .most_bytes = 1});
  Places places;
  const int object = 0;
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(OpenAndKeep(limits, 1, places, {{&object, 100}}));
}

}  // namespace
}  // namespace ndlfs::fs
