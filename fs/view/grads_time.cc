// SPDX-License-Identifier: MIT
#include "fs/view/grads_time.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <utility>

namespace ndlfs::fs {
namespace {

constexpr int64_t kMinutesOfDay = 24 * 60;

std::optional<double> MinutesOf(std::string_view unit) {
  constexpr std::array<std::pair<std::string_view, double>, 17> kUnits = {{
      {"days", kMinutesOfDay},
      {"day", kMinutesOfDay},
      {"d", kMinutesOfDay},
      {"hours", 60},
      {"hour", 60},
      {"hr", 60},
      {"h", 60},
      {"minutes", 1},
      {"minute", 1},
      {"min", 1},
      {"seconds", 1.0 / 60},
      {"second", 1.0 / 60},
      {"sec", 1.0 / 60},
      {"s", 1.0 / 60},
      {"milliseconds", 1e-3 / 60},
      {"microseconds", 1e-6 / 60},
      {"nanoseconds", 1e-9 / 60},
  }};
  for (const auto& [name, minutes] : kUnits) {
    if (name == unit) return minutes;
  }
  return std::nullopt;
}

// "2000-01-01", "2000-1-1 06:00:00", "2000-01-01T06:00Z" as minutes since 1970. Other time
// zones than UTC, and parts of minutes, are left to others.
std::optional<int64_t> ParseDate(std::string text) {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  int used = 0;
  if (std::sscanf(text.c_str(), "%4d-%2u-%2u%n", &year, &month, &day, &used) != 3) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (!date.ok()) return std::nullopt;
  std::string rest = text.substr(static_cast<size_t>(used));
  for (const std::string_view zone : {"Z", " UTC", " utc", " "}) {
    if (rest.ends_with(zone)) rest.erase(rest.size() - zone.size());
  }
  unsigned hour = 0;
  unsigned minute = 0;
  double second = 0;
  if (!rest.empty()) {
    used = 0;
    if (rest.front() != ' ' && rest.front() != 'T') return std::nullopt;
    rest.erase(0, 1);
    const int found =
        std::sscanf(rest.c_str(), "%2u:%2u%n:%lf%n", &hour, &minute, &used, &second, &used);
    if (found < 2 || static_cast<size_t>(used) != rest.size()) return std::nullopt;
    if (hour > 23 || minute > 59 || second != 0) return std::nullopt;
  }
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return int64_t{days} * kMinutesOfDay + hour * 60 + minute;
}

struct Moment {
  std::chrono::year_month_day date;
  int64_t minutes;  // of the day

  int64_t months() const {
    return int64_t{static_cast<int>(date.year())} * 12 + static_cast<unsigned>(date.month());
  }
};

Moment MomentAt(int64_t minutes) {
  const int64_t of_day = ((minutes % kMinutesOfDay) + kMinutesOfDay) % kMinutesOfDay;
  const auto days = std::chrono::days((minutes - of_day) / kMinutesOfDay);
  return {std::chrono::year_month_day(std::chrono::sys_days(days)), of_day};
}

// The step where it is the same everywhere.
std::optional<int64_t> StepOf(const std::vector<int64_t>& numbers) {
  const int64_t step = numbers[1] - numbers[0];
  for (size_t i = 1; i < numbers.size(); ++i) {
    if (numbers[i] - numbers[i - 1] != step) return std::nullopt;
  }
  return step > 0 ? std::optional(step) : std::nullopt;
}

std::optional<std::string> TextOfStep(const std::vector<int64_t>& minutes) {
  if (minutes.size() == 1) return "1dy";
  if (const auto step = StepOf(minutes)) {
    if (*step % kMinutesOfDay == 0) return fmt::format("{}dy", *step / kMinutesOfDay);
    if (*step % 60 == 0) return fmt::format("{}hr", *step / 60);
    return fmt::format("{}mn", *step);
  }
  std::vector<int64_t> months;
  const Moment first = MomentAt(minutes.front());
  for (const int64_t time : minutes) {
    const Moment moment = MomentAt(time);
    const bool is_same =
        moment.minutes == first.minutes && moment.date.day() == first.date.day();
    if (!is_same) return std::nullopt;
    months.push_back(moment.months());
  }
  const auto step = StepOf(months);
  return step ? std::optional(fmt::format("{}mo", *step)) : std::nullopt;
}

bool HasYearOfGrads(int64_t minutes) {
  const int year = static_cast<int>(MomentAt(minutes).date.year());
  return year >= 1 && year <= 9999;
}

// CF's standard calendar is Julian before this day.
bool IsGregorian(int64_t reference, std::string_view calendar) {
  constexpr std::chrono::sys_days kFirst =
      std::chrono::year(1582) / std::chrono::October / std::chrono::day(15);
  if (calendar == "proleptic_gregorian") return true;
  if (!calendar.empty() && calendar != "standard" && calendar != "gregorian") return false;
  return reference >= kFirst.time_since_epoch().count() * kMinutesOfDay;
}

}  // namespace

std::optional<std::string> GradsTime(const std::vector<double>& times, std::string_view units,
                                     std::string_view calendar) {
  constexpr std::string_view kSince = " since ";
  const size_t since = units.find(kSince);
  if (times.empty() || since == std::string_view::npos) return std::nullopt;
  const auto unit = MinutesOf(units.substr(0, since));
  const auto reference = ParseDate(std::string(units.substr(since + kSince.size())));
  if (!unit || !reference || !IsGregorian(*reference, calendar)) return std::nullopt;
  std::vector<int64_t> minutes;
  for (const double time : times) {
    constexpr double kFarthest = 1e10;  // minutes: 19,000 years
    constexpr double kRounding = 0.01;
    const double count = time * *unit;
    if (!(std::abs(count) < kFarthest)) return std::nullopt;
    if (std::abs(count - std::round(count)) > kRounding) return std::nullopt;
    minutes.push_back(*reference + std::llround(count));
    // Before the first day of the calendar too.
    if (!HasYearOfGrads(minutes.back()) || !IsGregorian(minutes.back(), calendar))
      return std::nullopt;
  }
  const auto step = TextOfStep(minutes);
  if (!step) return std::nullopt;
  constexpr std::array<std::string_view, 12> kMonths = {
      "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"};
  const Moment first = MomentAt(minutes.front());
  return fmt::format("{:02}:{:02}Z{:02}{}{:04} {}", first.minutes / 60, first.minutes % 60,
                     static_cast<unsigned>(first.date.day()),
                     kMonths[static_cast<unsigned>(first.date.month()) - 1],
                     static_cast<int>(first.date.year()), *step);
}

}  // namespace ndlfs::fs
