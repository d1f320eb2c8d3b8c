// SPDX-License-Identifier: MIT
#include "fs/view/array/grads_time.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ndlfs::fs {
namespace {

using Text = std::optional<std::string>;

TEST(GradsTimeTest, FirstTimeAndStep) {
  EXPECT_EQ(GradsTime({0, 6, 12}, "hours since 2000-01-01", ""), "00:00Z01jan2000 6hr");
  EXPECT_EQ(GradsTime({0, 1}, "days since 1999-12-31 06:30:00", "standard"),
            "06:30Z31dec1999 1dy");
  EXPECT_EQ(GradsTime({-1, 0}, "days since 1970-1-1T00:00:00Z", "gregorian"),
            "00:00Z31dec1969 1dy");
  EXPECT_EQ(GradsTime({0, 900, 1800}, "seconds since 2000-01-01 00:00", ""),
            "00:00Z01jan2000 15mn");
  EXPECT_EQ(GradsTime({0.25, 0.5}, "days since 2000-02-29 UTC", ""), "06:00Z29feb2000 6hr");
  EXPECT_EQ(GradsTime({3}, "days since 2000-01-01", ""), "00:00Z04jan2000 1dy");
}

TEST(GradsTimeTest, MonthsAreNotEquallyLong) {
  EXPECT_EQ(GradsTime({0, 31, 60, 91}, "days since 2000-01-01", ""), "00:00Z01jan2000 1mo");
  EXPECT_EQ(GradsTime({0, 366, 731}, "days since 2000-01-01", ""), "00:00Z01jan2000 1yr");
}

TEST(GradsTimeTest, MonthsMayHaveTheirMiddleOrTheirLastDay) {
  EXPECT_EQ(GradsTime({15.5, 45, 74.5, 105, 135.5}, "days since 2023-01-01", ""),
            "12:00Z16jan2023 1mo");
  EXPECT_EQ(GradsTime({30, 58, 89, 119}, "days since 2023-01-01", ""), "00:00Z28jan2023 1mo");
  EXPECT_EQ(GradsTime({0, 31, 62, 90}, "days since 2023-01-01", ""), Text());
}

TEST(GradsTimeTest, UnitsMayBeMonthsAndYears) {
  EXPECT_EQ(GradsTime({0, 1, 2, 3}, "months since 2023-01-01", ""), "00:00Z01jan2023 1mo");
  EXPECT_EQ(GradsTime({-3, 0, 3}, "months since 2023-01-15 06:00", ""), "06:00Z15oct2022 3mo");
  EXPECT_EQ(GradsTime({0, 10, 20}, "years since 1990-01-01", ""), "00:00Z01jan1990 10yr");
  EXPECT_EQ(GradsTime({0, 1}, "months since 2000-01-01", ""), "00:00Z01jan2000 31dy")
      << "two times are always days apart";
  EXPECT_EQ(GradsTime({0, 0.5, 1}, "months since 2023-01-01", ""), Text());
}

TEST(GradsTimeTest, AStepHasTwoDigits) {
  EXPECT_EQ(GradsTime({0, 99}, "days since 2000-01-01", ""), "00:00Z01jan2000 99dy");
  EXPECT_EQ(GradsTime({0, 100}, "days since 2000-01-01", ""), Text());
  EXPECT_EQ(GradsTime({0, 90}, "minutes since 2000-01-01", ""), "00:00Z01jan2000 90mn");
}

TEST(GradsTimeTest, OldDaysNeedTheCalendarOfToday) {
  EXPECT_EQ(GradsTime({0, 1}, "days since 0001-01-01", "proleptic_gregorian"),
            "00:00Z01jan0001 1dy");
  EXPECT_EQ(GradsTime({0, 1}, "days since 0001-01-01", "standard"), Text());
  EXPECT_EQ(GradsTime({-200'000, 0}, "days since 2000-01-01", ""), Text());
}

TEST(GradsTimeTest, ATimeZoneIsHeeded) {
  EXPECT_EQ(GradsTime({0, 1}, "days since 2000-01-01 00:00 +5", ""), "19:00Z31dec1999 1dy");
}

TEST(GradsTimeTest, CalendarsOfModelsHaveTheirDates) {
  EXPECT_EQ(GradsTime({0, 1}, "days since 1850-01-01", "360_day"), "00:00Z01jan1850 1dy");
  EXPECT_EQ(GradsTime({15, 45, 75}, "days since 1850-01-01", "360_day"), "00:00Z16jan1850 1mo");
  EXPECT_EQ(GradsTime({59, 60}, "days since 1850-01-01", "360_day"), Text())
      << "GrADS has no 30th of February";
  EXPECT_EQ(GradsTime({58, 88}, "days since 1850-01-01", "360_day"), "00:00Z28feb1850 1mo");
  EXPECT_EQ(GradsTime({57, 60}, "days since 1850-01-01", "360_day"), Text())
      << "a day more than GrADS has between them";
  EXPECT_EQ(GradsTime({58, 59}, "days since 2001-01-01", "366_day"), Text());
  EXPECT_EQ(GradsTime({58, 59}, "days since 2000-01-01", "366_day"), "00:00Z28feb2000 1dy");
  EXPECT_EQ(GradsTime({59, 424}, "days since 2000-01-01", "noleap"), "00:00Z01mar2000 1yr");
  EXPECT_EQ(GradsCalendarOf("noleap").option, "365_day_calendar");
  EXPECT_EQ(GradsCalendarOf("noleap").comment, "");
  EXPECT_EQ(GradsCalendarOf("360_day").option, "");
  EXPECT_NE(GradsCalendarOf("360_day").comment, "");
  EXPECT_EQ(GradsCalendarOf("proleptic_gregorian").comment, "");
  EXPECT_EQ(GradsCalendarOf("").option, "");
}

TEST(GradsTimeTest, WhatIsNoSuchTimeHasNone) {
  EXPECT_EQ(GradsTime({}, "days since 2000-01-01", ""), Text());
  EXPECT_EQ(GradsTime({0, 1, 3}, "days since 2000-01-01", ""), Text());
  EXPECT_EQ(GradsTime({1, 0}, "days since 2000-01-01", ""), Text());
  EXPECT_EQ(GradsTime({0, 0}, "days since 2000-01-01", ""), Text());
  EXPECT_EQ(GradsTime({0, 1}, "days since 2000-13-01", ""), Text());
  EXPECT_EQ(GradsTime({0, 1}, "days since 2000-01-01 25:00", ""), Text());
  EXPECT_EQ(GradsTime({0, 1}, "days since yesterday", ""), Text());
  EXPECT_EQ(GradsTime({0, 1}, "days", ""), Text());
  EXPECT_EQ(GradsTime({0, 30}, "seconds since 2000-01-01", ""), Text());
  EXPECT_EQ(GradsTime({0, std::nan("")}, "days since 2000-01-01", ""), Text());
  EXPECT_EQ(GradsTime({0, 1e300}, "days since 2000-01-01", ""), Text());
  EXPECT_EQ(GradsTime({0, 3e6}, "days since 2000-01-01", ""), Text()) << "after the year 9999";
}

TEST(GradsTimeTest, CalendarOfTodayBeginsOnTheFifteenthOfOctober1582) {
  EXPECT_EQ(GradsTime({0, 1}, "days since 1582-10-15", "standard"), "00:00Z15oct1582 1dy");
  EXPECT_EQ(GradsTime({0, 1}, "days since 1582-10-03", "standard"), Text());
  EXPECT_EQ(GradsTime({0, 1}, "days since 1582-01-01", "standard"), Text());
}

}  // namespace
}  // namespace ndlfs::fs
