// SPDX-License-Identifier: MIT
#include "model/recently_used.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace ndlfs::model {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pointee;

std::shared_ptr<std::string> Make(const char* text) {
  return std::make_shared<std::string>(text);
}

TEST(RecentlyUsedTest, DropsTheLeastRecentlyUsed) {
  RecentlyUsed<std::string> recent(2);
  const auto a = Make("a"), b = Make("b"), c = Make("c");
  EXPECT_THAT(recent.Touch(a), IsEmpty());
  EXPECT_THAT(recent.Touch(b), IsEmpty());
  EXPECT_THAT(recent.Touch(a), IsEmpty());
  EXPECT_THAT(recent.Touch(c), ElementsAre(Pointee(std::string("b"))));
  EXPECT_EQ(b.use_count(), 1);
  EXPECT_EQ(a.use_count(), 2);
}

TEST(RecentlyUsedTest, WeighsWhatItKeeps) {
  RecentlyUsed<std::string> recent(10);
  const auto a = Make("a"), b = Make("b"), c = Make("c");
  recent.Touch(a, 4);
  recent.Touch(b, 4);
  EXPECT_THAT(recent.Touch(c, 7), ElementsAre(a, b));
  EXPECT_EQ(recent.total_weight(), 7u);
}

TEST(RecentlyUsedTest, KeepsTheLatestHoweverHeavy) {
  RecentlyUsed<std::string> recent(10);
  const auto a = Make("a"), b = Make("b");
  recent.Touch(a, 4);
  EXPECT_THAT(recent.Touch(b, 1000), ElementsAre(a));
  EXPECT_EQ(recent.size(), 1u);
  EXPECT_THAT(recent.Touch(a, 4), ElementsAre(b));
}

TEST(RecentlyUsedTest, WeighsAnewWhatHasGrown) {
  RecentlyUsed<std::string> recent(10);
  const auto a = Make("a"), b = Make("b");
  recent.Touch(a, 4);
  recent.Touch(b, 4);
  EXPECT_THAT(recent.Touch(b, 7), ElementsAre(a));
  EXPECT_EQ(recent.total_weight(), 7u);
}

TEST(RecentlyUsedTest, DropForgetsOneObject) {
  RecentlyUsed<std::string> recent(10);
  const auto a = Make("a");
  recent.Touch(a, 4);
  recent.Drop(a.get());
  recent.Drop(a.get());
  EXPECT_EQ(a.use_count(), 1);
  EXPECT_EQ(recent.total_weight(), 0u);
}

// A use right after the last one of the same thread takes no lock.
TEST(RecentlyUsedTest, KeepsAgainWhatWasDroppedAMomentAgo) {
  RecentlyUsed<std::string> recent(10);
  RecentlyUsed<std::string> other(10);
  const auto a = Make("a"), b = Make("b");
  recent.Touch(a, 4);
  recent.Touch(a, 4);
  other.Touch(a, 4);
  EXPECT_EQ(a.use_count(), 3);
  recent.Touch(a, 4);
  recent.Drop(a.get());
  EXPECT_EQ(a.use_count(), 2);
  recent.Touch(a, 4);
  EXPECT_EQ(a.use_count(), 3);
  EXPECT_EQ(recent.total_weight(), 4u);
  recent.Touch(a, 5);
  EXPECT_EQ(recent.total_weight(), 5u);
  EXPECT_THAT(recent.Touch(b, 6), ElementsAre(a));
  EXPECT_THAT(recent.Touch(a, 6), ElementsAre(b));
  recent.Drop(a.get());
  recent.Touch(a, 6);
  EXPECT_EQ(recent.size(), 1u);
}

}  // namespace
}  // namespace ndlfs::model
