// SPDX-License-Identifier: MIT
//
// Times as numbers: "days since 1850-01-01" in one of the calendars of CF, and datetime64.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/datatype.h"
#include "model/value.h"

namespace ndlfs::model {

enum class Calendar : uint8_t {
  kStandard,  // Julian until 1582-10-04, then Gregorian
  kProlepticGregorian,
  kJulian,
  kNoLeap,   // 365 days
  kAllLeap,  // 366 days
  k360Day,
};

// By the names of CF, in any case; an empty one is kStandard. nullopt for others.
std::optional<Calendar> ParseCalendar(std::string_view name);

struct Date {
  int64_t year = 0;
  unsigned month = 1;
  unsigned day = 1;
  bool operator==(const Date&) const = default;
};

// Whether `calendar` has the date.
bool IsDate(Calendar calendar, const Date& date);
// Days since 1970-01-01 of the same calendar. `date` is a date of it.
int64_t DaysOf(Calendar calendar, const Date& date);
Date DateOf(Calendar calendar, int64_t days);

// A moment, in nanoseconds since 1970-01-01 of its calendar. The standard calendar counts the
// same moments as the proleptic Gregorian one, but names days before 1582-10-15 differently.
using Nanoseconds = WideInt;
inline constexpr Nanoseconds kNanosecondsOfSecond = 1'000'000'000;

// How the numbers of an array count time.
struct TimeScale {
  Calendar calendar = Calendar::kStandard;
  Nanoseconds origin = 0;  // of the number 0
  Nanoseconds unit = 1;    // of the number 1

  // nullopt for numbers that are not finite, or more than ten million years from the origin.
  std::optional<Nanoseconds> OfInteger(WideInt count) const;
  // Rounded to microseconds.
  std::optional<Nanoseconds> OfReal(double count) const;
};

// "hours since 1900-01-01 00:00:0.0", with a time zone if there is one. nullopt where the text
// is no such units, and for months and years, which differ in length.
std::optional<TimeScale> ParseTimeUnits(std::string_view units, std::string_view calendar);
// The scale of datetime64. nullopt for other types, and for months and years.
std::optional<TimeScale> TimeScaleOf(const Datatype& type);

// The moments from `begin` on and before `end` that a text names: "2020-01" is all of a month,
// "2020" a year, and "2020-01-01T06:00" a minute.
struct Period {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  bool is_longer_than_day = false;  // a month or a year
};
// Reads a date with four or more digits for the year, which a time of the day may follow after
// 'T', '_' or a blank. nullopt if `text` is no such date, or the calendar has no such day.
std::optional<Period> ParsePeriod(Calendar calendar, std::string_view text);

// "2020-01-01T06:00:00.000000000", "-0044-03-15T00:00:00". `digits` of the second's fraction:
// 0, 3, 6 or 9.
std::string FormatTime(Calendar calendar, Nanoseconds time, int digits);

}  // namespace ndlfs::model
