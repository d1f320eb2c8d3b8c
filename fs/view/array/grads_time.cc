// SPDX-License-Identifier: MIT
#include "fs/view/array/grads_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

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

// Months where every time is on the same day of its month. In a calendar of equal months these
// are also equal numbers of days, but not those of GrADS.
std::optional<int64_t> StepInMonths(Calendar calendar, const std::vector<int64_t>& minutes) {
  std::vector<int64_t> months;
  const Moment first = MomentAt(calendar, minutes.front());
  for (const int64_t time : minutes) {
    const Moment moment = MomentAt(calendar, time);
    const bool is_same = moment.minutes == first.minutes && moment.date.day == first.date.day;
    if (!is_same) return std::nullopt;
    months.push_back(moment.months());
  }
  return EqualStepOf(months);
}

std::optional<std::string> TextOfGradsStep(Calendar calendar,
                                           const std::vector<int64_t>& minutes) {
  if (minutes.size() == 1) return "1dy";
  const auto step = EqualStepOf(minutes);
  const bool prefers_months = !step || calendar == Calendar::k360Day;
  const auto months = prefers_months ? StepInMonths(calendar, minutes) : std::nullopt;
  if (months) return fmt::format("{}mo", *months);
  if (!step) return std::nullopt;
  if (*step % kMinutesOfDay == 0) return fmt::format("{}dy", *step / kMinutesOfDay);
  if (*step % 60 == 0) return fmt::format("{}hr", *step / 60);
  return fmt::format("{}mn", *step);
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

std::optional<std::vector<int64_t>> MinutesOf(const std::vector<double>& times,
                                              const model::TimeScale& scale) {
  std::vector<int64_t> minutes;
  for (const double time : times) {
    const auto moment = scale.OfReal(time);
    const auto minute = moment ? MinuteOf(*moment) : std::nullopt;
    if (!minute) return std::nullopt;
    if (!HasDatesOfGrads(scale.calendar, MomentAt(scale.calendar, *minute).date)) {
      return std::nullopt;
    }
    minutes.push_back(*minute);
  }
  return minutes;
}

// A day that GrADS has: February of 30 days is none.
unsigned DayOfGrads(const Date& date) {
  Date day = date;
  while (day.day > 28 && !IsDate(Calendar::kProlepticGregorian, day)) --day.day;
  return day.day;
}

}  // namespace

std::optional<std::string> GradsTime(const std::vector<double>& times, std::string_view units,
                                     std::string_view calendar) {
  const auto scale = model::ParseTimeUnits(units, calendar);
  if (times.empty() || !scale) return std::nullopt;
  const auto minutes = MinutesOf(times, *scale);
  if (!minutes) return std::nullopt;
  const auto step = TextOfGradsStep(scale->calendar, *minutes);
  if (!step) return std::nullopt;
  constexpr std::array<std::string_view, 12> kMonths = {
      "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"};
  const Moment first = MomentAt(scale->calendar, minutes->front());
  return fmt::format("{:02}:{:02}Z{:02}{}{:04} {}", first.minutes / 60, first.minutes % 60,
                     DayOfGrads(first.date), kMonths[first.date.month - 1], first.date.year,
                     *step);
}

GradsCalendar GradsCalendarOf(std::string_view calendar) {
  const auto known = model::ParseCalendar(calendar);
  if (!known || *known == Calendar::kStandard || *known == Calendar::kProlepticGregorian) {
    return {};
  }
  if (*known == Calendar::kNoLeap) return {.option = "365_day_calendar"};
  return {.comment = fmt::format("* The data have the calendar {}. The dates of GrADS are "
                                 "Gregorian: the first is right, later ones may differ.\n",
                                 model::OneLine(calendar))};
}

}  // namespace ndlfs::fs
