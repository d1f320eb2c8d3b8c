// SPDX-License-Identifier: MIT
#include "model/cf_time.h"

#include <gtest/gtest.h>

#include <string>

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

TEST(TimeUnitsTest, WhatIsNoTimeIsNone) {
  for (const char* units :
       {"seconds since 1970-1", "seconds since 1970-13-1", "seconds since 1970-0-1",
        "seconds since 1970-1-0", "seconds since 1970-1-32", "seconds since 1970-2-30",
        "seconds since 1970-1-1 24:00", "seconds since 1970-1-1 x",
        "seconds since 1970-1-1 0:60",
        "seconds since 1970-1-1 0:", "seconds since 1970-1-1 0:00:60",
        "seconds since 1970-1-1 0:00:00 +100:00", "seconds since 1970-1-1 0:00:00 +1:x",
        "seconds since 1970-1-1 0:00:00 +25", "seconds since 1970-1-1 0:00:00 +1 x",
        "fortnights since 1970-1-1", "seconds since 99999999999-1-1", "seconds"}) {
    EXPECT_FALSE(ParseTimeUnits(units, "")) << units;
  }
  EXPECT_FALSE(ParseTimeUnits("seconds since 1970-1-1", "julianish"));
}

TEST(TimeUnitsTest, ZonesAreWrittenInManyWays) {
  const auto origin = [](const char* zone) {
    const auto units =
        ParseTimeUnits(std::string("seconds since 1970-1-1 0:00:00.5") + zone, "");
    return units ? static_cast<int64_t>(units->origin * 2 / kOneSecond) : INT64_MIN;
  };
  for (const char* zone : {"", "Z", " UTC", " gmt", " +0000"})
    EXPECT_EQ(origin(zone), 1) << zone;
  EXPECT_EQ(origin(" +0130"), 1 - 2 * 5400);
  EXPECT_EQ(origin("-130"), 1 + 2 * 5400);
}

TEST(TimeUnitsTest, MonthsHaveALengthWhereAllAreAlike) {
  EXPECT_FALSE(ParseTimeUnits("months since 1970-1-1", "standard"));
  const auto months = ParseTimeUnits("month since 1970-1-1", "360_day");
  ASSERT_TRUE(months);
  EXPECT_EQ(months->unit, 30 * 86400 * kOneSecond);
  EXPECT_EQ(ParseTimeUnits("months since 1970-1-1", "360_day")->unit, months->unit);
}

}  // namespace
}  // namespace ndlfs::model
