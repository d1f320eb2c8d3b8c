// SPDX-License-Identifier: MIT
#include "fs/view/array/grads_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>

#include "model/cf_time.h"

namespace ndlfs::fs {
namespace {

using model::Calendar;
using model::Date;
using model::Nanoseconds;

constexpr int64_t kMinutesOfDay = 24 * 60;
constexpr Nanoseconds kMinute = Nanoseconds{60} * 1'000'000'000;

// A minute of some calendar.
struct Moment {
  Date date;
  int64_t minutes;  // of the day

  int64_t months() const { return date.year * 12 + date.month; }
};

Moment MomentAt(Calendar calendar, int64_t minutes) {
  const int64_t of_day = ((minutes % kMinutesOfDay) + kMinutesOfDay) % kMinutesOfDay;
  return {DateOf(calendar, (minutes - of_day) / kMinutesOfDay), of_day};
}

// The step where it is the same everywhere.
std::optional<int64_t> EqualStepOf(const std::vector<int64_t>& numbers) {
  const int64_t step = numbers[1] - numbers[0];
  for (size_t i = 1; i < numbers.size(); ++i) {
    if (numbers[i] - numbers[i - 1] != step) return std::nullopt;
  }
  return step > 0 ? std::optional(step) : std::nullopt;
}

int64_t DaysOfMonth(Calendar calendar, const Date& date) {
  const bool is_december = date.month == 12;
  const Date next = {date.year + (is_december ? 1 : 0), is_december ? 1 : date.month + 1, 1};
  return DaysOf(calendar, next) - DaysOf(calendar, {date.year, date.month, 1});
}

// Months where every time is within a day of the same time of its month, or of the middle of
// its month; or on its last day. In a calendar of equal months these are also equal numbers of
// days, but not those of GrADS.
std::optional<int64_t> StepInMonths(Calendar calendar, const std::vector<int64_t>& minutes) {
  std::vector<int64_t> months;
  const Moment first = MomentAt(calendar, minutes.front());
  const int64_t of_first = (first.date.day - 1) * kMinutesOfDay + first.minutes;
  bool are_same = true, are_middle = true, are_last = true;
  for (const int64_t time : minutes) {
    const Moment moment = MomentAt(calendar, time);
    const int64_t days = DaysOfMonth(calendar, moment.date);
    const int64_t of_month = (moment.date.day - 1) * kMinutesOfDay + moment.minutes;
    are_same = are_same && std::abs(of_month - of_first) <= kMinutesOfDay;
    are_middle =
        are_middle && std::abs(2 * of_month - days * kMinutesOfDay) <= 2 * kMinutesOfDay;
    are_last = are_last && moment.date.day == days;
    months.push_back(moment.months());
  }
  return are_same || are_middle || are_last ? EqualStepOf(months) : std::nullopt;
}

// Whether days of the calendar have, one after the other, dates of GrADS.
bool HasDaysOfGrads(Calendar calendar, const std::vector<int64_t>& minutes) {
  if (calendar == Calendar::kNoLeap) return true;  // the option 365_day_calendar
  const auto days_of = [&](int64_t time) {
    const Date date = MomentAt(calendar, time).date;
    const bool is_date = IsDate(Calendar::kProlepticGregorian, date);
    return is_date ? std::optional(DaysOf(Calendar::kProlepticGregorian, date)) : std::nullopt;
  };
  const auto first = days_of(minutes.front());
  const int64_t first_day = DaysOf(calendar, MomentAt(calendar, minutes.front()).date);
  return std::ranges::all_of(minutes, [&](int64_t time) {
    const auto day = days_of(time);
    return first && day &&
           *day - *first == DaysOf(calendar, MomentAt(calendar, time).date) - first_day;
  });
}

// GrADS reads one or two digits.
std::optional<std::string> TextOfGradsStep(Calendar calendar,
                                           const std::vector<int64_t>& minutes) {
  struct Unit {
    std::string_view name;
    int64_t length;
  };
  const auto text = [](int64_t step, std::initializer_list<Unit> units) {
    for (const Unit& unit : units) {
      const bool fits = step % unit.length == 0 && step / unit.length <= 99;
      if (fits) return std::optional(fmt::format("{}{}", step / unit.length, unit.name));
    }
    return std::optional<std::string>();
  };
  if (minutes.size() == 1) return "1dy";
  const auto step = EqualStepOf(minutes);
  auto in_days = step && HasDaysOfGrads(calendar, minutes)
                     ? text(*step, {{"dy", kMinutesOfDay}, {"hr", 60}, {"mn", 1}})
                     : std::nullopt;
  if (in_days && calendar != Calendar::k360Day) return in_days;
  const auto months = StepInMonths(calendar, minutes);
  auto in_months = months ? text(*months, {{"yr", 12}, {"mo", 1}}) : std::nullopt;
  return in_months ? in_months : in_days;
}

// CF's standard calendar is Julian before this day.
bool HasDatesOfGrads(Calendar calendar, const Date& date) {
  if (date.year < 1 || date.year > 9999) return false;
  if (calendar != Calendar::kStandard) return true;
  return DaysOf(calendar, date) >= DaysOf(calendar, {1582, 10, 15});
}

// The whole minute that a time is, up to a hundredth.
std::optional<int64_t> MinuteOf(Nanoseconds time) {
  const Nanoseconds half = time < 0 ? -kMinute / 2 : kMinute / 2;
  const Nanoseconds minutes = (time + half) / kMinute;
  const Nanoseconds rest = time - minutes * kMinute;
  if (rest < -kMinute / 100 || rest > kMinute / 100) return std::nullopt;
  return static_cast<int64_t>(minutes);
}

// Times as `units` count them: where these are months or years, `months` of the calendar.
struct GradsScale {
  model::TimeScale scale;
  int64_t months = 0;
};

std::optional<GradsScale> ParseGradsUnits(std::string_view units, std::string_view calendar) {
  if (const auto scale = model::ParseTimeUnits(units, calendar)) return GradsScale{*scale};
  const size_t since = units.find(" since ");
  if (since == units.npos) return std::nullopt;
  const std::string_view word = units.substr(0, since);
  const bool are_months = word == "months" || word == "month";
  if (!are_months && word != "years" && word != "year") return std::nullopt;
  const auto days = model::ParseTimeUnits(fmt::format("days{}", units.substr(since)), calendar);
  return days ? std::optional(GradsScale{*days, are_months ? 1 : 12}) : std::nullopt;
}

std::optional<int64_t> MinuteOf(const GradsScale& units, double time) {
  const bool is_of_months = units.months != 0;
  const auto moment = units.scale.OfReal(is_of_months ? 0 : time);
  const auto minute = moment ? MinuteOf(*moment) : std::nullopt;
  if (!minute || !is_of_months) return minute;
  constexpr double kMost = 1e5;
  if (!(std::abs(time) < kMost) || time != std::floor(time)) return std::nullopt;
  const Moment origin = MomentAt(units.scale.calendar, *minute);
  const int64_t months = origin.months() - 1 + static_cast<int64_t>(time) * units.months;
  const int64_t month = (months % 12 + 12) % 12;
  const Date date = {(months - month) / 12, static_cast<unsigned>(month + 1), origin.date.day};
  if (!IsDate(units.scale.calendar, date)) return std::nullopt;
  return DaysOf(units.scale.calendar, date) * kMinutesOfDay + origin.minutes;
}

std::optional<std::vector<int64_t>> MinutesOf(const std::vector<double>& times,
                                              const GradsScale& units) {
  const model::TimeScale& scale = units.scale;
  std::vector<int64_t> minutes;
  for (const double time : times) {
    const auto minute = MinuteOf(units, time);
    if (!minute) return std::nullopt;
    if (!HasDatesOfGrads(scale.calendar, MomentAt(scale.calendar, *minute).date)) {
      return std::nullopt;
    }
    minutes.push_back(*minute);
  }
  return minutes;
}

// A day that GrADS has: February of 30 days is none, and all months have 28 days.
unsigned DayOfGrads(const Date& date, std::string_view step) {
  Date day = date;
  const bool is_of_months = step.ends_with("mo");
  while (day.day > 28 && (is_of_months || !IsDate(Calendar::kProlepticGregorian, day))) {
    --day.day;
  }
  return day.day;
}

}  // namespace

std::optional<std::string> GradsTime(const std::vector<double>& times, std::string_view units,
                                     std::string_view calendar) {
  const auto read = ParseGradsUnits(units, calendar);
  if (times.empty() || !read) return std::nullopt;
  const auto minutes = MinutesOf(times, *read);
  if (!minutes) return std::nullopt;
  const Calendar known = read->scale.calendar;
  const auto step = TextOfGradsStep(known, *minutes);
  if (!step) return std::nullopt;
  constexpr std::array<std::string_view, 12> kMonths = {
      "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"};
  const Moment first = MomentAt(known, minutes->front());
  return fmt::format("{:02}:{:02}Z{:02}{}{:04} {}", first.minutes / 60, first.minutes % 60,
                     DayOfGrads(first.date, *step), kMonths[first.date.month - 1],
                     first.date.year, *step);
}

GradsCalendar GradsCalendarOf(std::string_view calendar) {
  const auto known = model::ParseCalendar(calendar);
  if (!known || *known == Calendar::kStandard || *known == Calendar::kProlepticGregorian) {
    return {};
  }
  if (*known == Calendar::kNoLeap) return {.option = "365_day_calendar"};
  return {.comment = fmt::format("* The data have the calendar {}. GrADS counts their months, "
                                 "whose days may differ.\n",
                                 model::OneLine(calendar))};
}

}  // namespace ndlfs::fs
