// SPDX-License-Identifier: MIT
#include "fs/serve/lookup_habits.h"

#include <gtest/gtest.h>

namespace ndlfs::fs {
namespace {

TEST(LookupHabitsTest, ExpectsNoLookupsOfACallerThatHasOnlyListed) {
  LookupHabits habits;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(habits.ExpectsLookups(7));
}

TEST(LookupHabitsTest, ExpectsLookupsAfterOne) {
  LookupHabits habits;
  habits.NoteLookup(7);
  EXPECT_TRUE(habits.ExpectsLookups(7));
  EXPECT_TRUE(habits.ExpectsLookups(7));
}

TEST(LookupHabitsTest, AsksAgainAfterSomeListings) {
  LookupHabits habits;
  habits.NoteLookup(7);
  int listings = 0;
  while (listings < 1000 && habits.ExpectsLookups(7)) ++listings;
  EXPECT_EQ(listings, 32);
  EXPECT_FALSE(habits.ExpectsLookups(7));
  habits.NoteLookup(7);
  EXPECT_TRUE(habits.ExpectsLookups(7));
}

TEST(LookupHabitsTest, CallersDoNotTakeEachOthersPlace) {
  LookupHabits habits;
  habits.NoteLookup(7);
  EXPECT_FALSE(habits.ExpectsLookups(8));
  EXPECT_FALSE(habits.ExpectsLookups(7 + 256)) << "the same place";
  EXPECT_TRUE(habits.ExpectsLookups(7));
  habits.NoteLookup(7 + 256);
  EXPECT_TRUE(habits.ExpectsLookups(7 + 256));
  EXPECT_FALSE(habits.ExpectsLookups(7));
}

// Requests of the kernel itself come from no process.
TEST(LookupHabitsTest, TheKernelIsACallerLikeOthers) {
  LookupHabits habits;
  EXPECT_FALSE(habits.ExpectsLookups(0));
  habits.NoteLookup(0);
  EXPECT_TRUE(habits.ExpectsLookups(0));
}

}  // namespace
}  // namespace ndlfs::fs
