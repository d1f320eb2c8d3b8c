// SPDX-License-Identifier: MIT
#include "model/cf_time.h"

#include <gtest/gtest.h>

namespace ndlfs::model {
namespace {

constexpr Nanoseconds kOneSecond = 1'000'000'000;

TEST(TimeUnitsTest, AZoneMayLackItsSign) {
  const auto utc = ParseTimeUnits("seconds since 1970-1-1 0:00:00 0:00", "");
  ASSERT_TRUE(utc);
  EXPECT_EQ(utc->origin, 0);
  const auto east = ParseTimeUnits("seconds since 1970-1-1 0:00:00 1:30", "");
  ASSERT_TRUE(east);
  EXPECT_EQ(east->origin, -5400 * kOneSecond);
  EXPECT_EQ(ParseTimeUnits("seconds since 1970-1-1 0:00:00 +1:30", "")->origin, east->origin);
  EXPECT_EQ(ParseTimeUnits("seconds since 1970-1-1 0:00:00 -1", "")->origin, 3600 * kOneSecond);
  EXPECT_FALSE(ParseTimeUnits("seconds since 1970-1-1 0:00:00 local", ""));
}

TEST(FormatTimeTest, YearsBeforeZeroHaveFourDigits) {
  const auto format = [](const Date& date) {
    const Nanoseconds day = 86400 * kOneSecond;
    return FormatTime(Calendar::kProlepticGregorian,
                      DaysOf(Calendar::kProlepticGregorian, date) * day, 0);
  };
  EXPECT_EQ(format({-44, 3, 15}), "-0044-03-15T00:00:00");
  EXPECT_EQ(format({-12345, 1, 1}), "-12345-01-01T00:00:00");
  EXPECT_EQ(format({0, 1, 1}), "0000-01-01T00:00:00");
  EXPECT_EQ(format({44, 1, 1}), "0044-01-01T00:00:00");
}

}  // namespace
}  // namespace ndlfs::model
