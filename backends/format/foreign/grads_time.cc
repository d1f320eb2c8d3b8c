// SPDX-License-Identifier: MIT
#include "backends/format/foreign/grads_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "backends/format/foreign/header_text.h"

namespace ndlfs::backends::foreign {
namespace {

using model::BadInput;
using model::Result;

constexpr int64_t kMinutesOfDay = 24 * 60;
constexpr std::array<std::string_view, 12> kMonths = {"jan", "feb", "mar", "apr", "may", "jun",
                                                      "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<int64_t, 13> kDaysBefore = {0,   31,  59,  90,  120, 151, 181,
                                                 212, 243, 273, 304, 334, 365};
// The limit for all times together, so that nothing overflows.
constexpr uint64_t kMostTimes = uint64_t{1} << 32;
constexpr int64_t kMostAmount = 100'000;

// The number at the beginning, which it loses.
std::optional<int64_t> TakeNumber(std::string_view& text) {
  const size_t size = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = ParseInteger(text.substr(0, size));
  text.remove_prefix(size);
  return number;
}

// "[hh[:mm]Z][dd]mmm[yyyy]", in small letters.
std::optional<GradsDate> ParseDate(std::string_view text) {
  GradsDate date;
  if (const size_t z = text.find('z'); z != std::string_view::npos) {
    std::string_view clock = text.substr(0, z);
    text.remove_prefix(z + 1);
    const auto hour = TakeNumber(clock);
    if (!hour || *hour > 23) return std::nullopt;
    date.minute = *hour * 60;
    if (clock.starts_with(':')) {
      clock.remove_prefix(1);
      const auto minute = TakeNumber(clock);
      if (!minute || *minute > 59) return std::nullopt;
      date.minute += *minute;
    }
    if (!clock.empty()) return std::nullopt;
  }
  date.day = TakeNumber(text).value_or(1);
  const auto month = std::ranges::find(kMonths, text.substr(0, 3));
  if (month == kMonths.end()) return std::nullopt;
  date.month = month - kMonths.begin() + 1;
  text.remove_prefix(3);
  const size_t digits = text.size();
  const auto year = TakeNumber(text);
  if (!year || !text.empty() || *year > 9999) return std::nullopt;
  // Years of two digits are those from 1950 to 2049.
  date.year = digits == 2 ? *year + (*year < 50 ? 2000 : 1900) : *year;
  const bool is_sound = date.year >= 1 && date.day >= 1 && date.day <= 31;
  return is_sound ? std::optional(date) : std::nullopt;
}

}  // namespace

Result<GradsTimes> GradsTimes::Parse(std::string_view start, std::string_view increment,
                                     uint64_t count, bool has_leap_years) {
  GradsTimes times;
  times.has_leap_years_ = has_leap_years;
  times.count_ = count;
  if (count == 0 || count > kMostTimes) return BadInput("TDEF: {} times", count);
  const auto date = ParseDate(Lowercase(start));
  if (!date) return BadInput("TDEF: {} is no date", model::Quote(start));
  times.start_ = *date;
  std::string_view rest = increment;
  const auto amount = TakeNumber(rest);
  constexpr std::array<std::pair<std::string_view, Unit>, 5> kUnits = {{{"mn", Unit::kMinute},
                                                                        {"hr", Unit::kHour},
                                                                        {"dy", Unit::kDay},
                                                                        {"mo", Unit::kMonth},
                                                                        {"yr", Unit::kYear}}};
  for (const auto& [name, unit] : kUnits) {
    if (!EqualsIgnoringCase(rest, name)) continue;
    times.unit_ = unit;
    if (!amount || *amount < 1 || *amount > kMostAmount) break;
    times.amount_ = *amount;
    return times;
  }
  return BadInput("TDEF: {} is no increment", model::Quote(increment));
}

int64_t GradsTimes::DaysOf(const GradsDate& date) const {
  if (!has_leap_years_) {
    return date.year * 365 + kDaysBefore[static_cast<size_t>(date.month - 1)] + date.day - 1;
  }
  const std::chrono::year_month_day first{std::chrono::year(static_cast<int>(date.year)),
                                          std::chrono::month(static_cast<unsigned>(date.month)),
                                          std::chrono::day(1)};
  return std::chrono::sys_days(first).time_since_epoch().count() + date.day - 1;
}

GradsDate GradsTimes::DateOfMinutes(int64_t minutes) const {
  const int64_t of_day = (minutes % kMinutesOfDay + kMinutesOfDay) % kMinutesOfDay;
  const int64_t days = (minutes - of_day) / kMinutesOfDay;
  if (!has_leap_years_) {
    const int64_t of_year = days % 365;
    const auto* next = std::ranges::upper_bound(kDaysBefore, of_year);
    return {days / 365, next - kDaysBefore.begin(), of_year - *(next - 1) + 1, of_day};
  }
  const std::chrono::year_month_day date{
      std::chrono::sys_days(std::chrono::days(static_cast<int>(days)))};
  return {static_cast<int>(date.year()),
          static_cast<int64_t>(static_cast<unsigned>(date.month())),
          static_cast<int64_t>(static_cast<unsigned>(date.day())), of_day};
}

GradsDate GradsTimes::DateAt(uint64_t index) const {
  // Beyond what a calendar of 32 bits has, dates stay as they are.
  constexpr int64_t kMostSteps = int64_t{1} << 32;
  const int64_t steps = std::min(static_cast<int64_t>(index) * amount_, kMostSteps);
  if (unit_ == Unit::kMonth || unit_ == Unit::kYear) {
    constexpr int64_t kLastYear = 30'000;
    const int64_t months = start_.month - 1 + (unit_ == Unit::kYear ? 12 : 1) * steps;
    GradsDate date = start_;
    date.year = std::min(start_.year + months / 12, kLastYear);
    date.month = months % 12 + 1;
    return date;
  }
  const int64_t minutes = unit_ == Unit::kMinute ? 1
                          : unit_ == Unit::kHour ? 60
                                                 : kMinutesOfDay;
  constexpr int64_t kMostMinutes = int64_t{10'000} * 365 * kMinutesOfDay;
  return DateOfMinutes(DaysOf(start_) * kMinutesOfDay + start_.minute +
                       std::min(steps * minutes, kMostMinutes));
}

std::string GradsTimes::units() const {
  const std::string_view unit = unit_ == Unit::kMinute ? "minutes"
                                : unit_ == Unit::kHour ? "hours"
                                                       : "days";
  return fmt::format("{} since {:04}-{:02}-{:02} {:02}:{:02}:00", unit, start_.year,
                     start_.month, start_.day, start_.minute / 60, start_.minute % 60);
}

std::string GradsTimes::calendar() const {
  if (!has_leap_years_) return "365_day";
  // CF's standard calendar is Julian before the end of 1582.
  return start_.year > 1582 ? "standard" : "proleptic_gregorian";
}

std::optional<double> GradsTimes::step() const {
  if (unit_ == Unit::kMonth || unit_ == Unit::kYear) return std::nullopt;
  return static_cast<double>(amount_);
}

double GradsTimes::CoordinateAt(uint64_t index) const {
  if (step()) return *step() * static_cast<double>(index);
  return static_cast<double>(DaysOf(DateAt(index)) - DaysOf(start_));
}

std::optional<std::string> GradsTimes::Replacement(std::string_view code,
                                                   uint64_t index) const {
  GradsDate date = DateAt(index);
  if (code.starts_with('i')) {  // the first time
    date = start_;
    code.remove_prefix(1);
  }
  const int64_t hour = date.minute / 60;
  const std::string month(kMonths[static_cast<size_t>(date.month - 1)]);
  if (code == "y2") return fmt::format("{:02}", date.year % 100);
  if (code == "y4") return fmt::format("{:04}", date.year);
  if (code == "m1") return fmt::format("{}", date.month);
  if (code == "m2") return fmt::format("{:02}", date.month);
  if (code == "mc") return month;
  if (code == "d1") return fmt::format("{}", date.day);
  if (code == "d2") return fmt::format("{:02}", date.day);
  if (code == "h1") return fmt::format("{}", hour);
  if (code == "h2") return fmt::format("{:02}", hour);
  if (code == "h3") return fmt::format("{:03}", hour);
  if (code == "n2") return fmt::format("{:02}", date.minute % 60);
  if (code == "j3") {
    return fmt::format("{:03}", DaysOf(date) - DaysOf({date.year, 1, 1, 0}) + 1);
  }
  const int64_t hours =
      (DaysOf(date) - DaysOf(start_)) * 24 + (date.minute - start_.minute) / 60;
  if (code == "f2") return fmt::format("{:02}", hours);
  if (code == "f3") return fmt::format("{:03}", hours);
  if (code.size() == 2 && code[0] == 't' && code[1] >= '1' && code[1] <= '6') {
    return fmt::format("{:0{}}", index + 1, code[1] - '0');
  }
  return std::nullopt;
}

Result<std::string> GradsTimes::FillIn(std::string_view name, uint64_t index) const {
  std::string filled;
  while (!name.empty()) {
    if (name.front() != '%') {
      filled += name.front();
      name.remove_prefix(1);
      continue;
    }
    const size_t size = name.substr(1).starts_with('i') ? 3 : 2;
    const auto replacement = Replacement(name.substr(1, size), index);
    if (!replacement) {
      return model::Unsupported("DSET: {} in the name of files",
                                model::Quote(name.substr(0, size + 1)));
    }
    filled += *replacement;
    name.remove_prefix(size + 1);
  }
  return filled;
}

}  // namespace ndlfs::backends::foreign
