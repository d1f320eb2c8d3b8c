// SPDX-License-Identifier: MIT
#include "model/cf_time.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "model/spelling.h"

namespace ndlfs::model {
namespace {

constexpr Nanoseconds kSecond = 1'000'000'000;
constexpr Nanoseconds kDay = 86400 * kSecond;
constexpr int64_t kMostYears = 10'000'000;
constexpr double kMostNanoseconds = 3.2e23;  // of as many years

constexpr int64_t FloorDivide(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0);
}

// Days from 0000-03-01 to the first of March of `year`, in calendars with leap years: the
// leap day is the last of such a year.
int64_t DaysBeforeMarch(bool is_gregorian, int64_t year) {
  const int64_t days = 365 * year + FloorDivide(year, 4);
  return is_gregorian ? days - FloorDivide(year, 100) + FloorDivide(year, 400) : days;
}

// Days from the first of March to the first of a month that is `m` months later.
int64_t DaysBeforeMonth(int64_t m) { return (153 * m + 2) / 5; }

int64_t DaysWithLeapYears(bool is_gregorian, const Date& date) {
  const bool is_before_march = date.month < 3;
  const int64_t year = date.year - (is_before_march ? 1 : 0);
  const int64_t month = int64_t{date.month} + (is_before_march ? 9 : -3);
  return DaysBeforeMarch(is_gregorian, year) + DaysBeforeMonth(month) + date.day - 1;
}

Date DateWithLeapYears(bool is_gregorian, int64_t days) {
  int64_t year = FloorDivide(days * 4, 1461);  // nearly
  while (DaysBeforeMarch(is_gregorian, year) > days) --year;
  while (DaysBeforeMarch(is_gregorian, year + 1) <= days) ++year;
  const int64_t of_year = days - DaysBeforeMarch(is_gregorian, year);
  const int64_t month = (5 * of_year + 2) / 153;
  const auto day = static_cast<unsigned>(of_year - DaysBeforeMonth(month) + 1);
  if (month < 10) return {year, static_cast<unsigned>(month + 3), day};
  return {year + 1, static_cast<unsigned>(month - 9), day};
}

// Days of each month where years are equal.
std::array<unsigned, 12> MonthsOf(Calendar calendar) {
  if (calendar == Calendar::k360Day) return {30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30};
  const unsigned february = calendar == Calendar::kAllLeap ? 29 : 28;
  return {31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
}
int64_t YearOf(Calendar calendar) {
  if (calendar == Calendar::k360Day) return 360;
  return calendar == Calendar::kAllLeap ? 366 : 365;
}
bool HasEqualYears(Calendar calendar) {
  return calendar == Calendar::kNoLeap || calendar == Calendar::kAllLeap ||
         calendar == Calendar::k360Day;
}

int64_t DaysWithEqualYears(Calendar calendar, const Date& date) {
  const auto months = MonthsOf(calendar);
  int64_t days = date.year * YearOf(calendar) + date.day - 1;
  for (size_t m = 0; m + 1 < date.month; ++m) days += months[m];
  return days;
}

Date DateWithEqualYears(Calendar calendar, int64_t days) {
  const auto months = MonthsOf(calendar);
  Date date{FloorDivide(days, YearOf(calendar)), 1, 1};
  int64_t rest = days - date.year * YearOf(calendar);
  while (rest >= months[date.month - 1]) rest -= months[date.month++ - 1];
  date.day = static_cast<unsigned>(rest + 1);
  return date;
}

// The first day of the Gregorian calendar, 1582-10-15, and the day after 1582-10-04 of the
// Julian.
constexpr Date kFirstGregorian = {1582, 10, 15};
bool IsBefore(const Date& a, const Date& b) {
  return std::pair(a.year, a.month * 32 + a.day) < std::pair(b.year, b.month * 32 + b.day);
}

// The day 1582-10-15 of the Gregorian calendar is 1582-10-05 of the Julian.
constexpr Date kFirstGregorianAsJulian = {1582, 10, 5};

// Days since some day that is the same for all dates of `calendar`.
int64_t CountDays(Calendar calendar, const Date& date) {
  if (HasEqualYears(calendar)) return DaysWithEqualYears(calendar, date);
  if (calendar == Calendar::kJulian) return DaysWithLeapYears(false, date);
  if (calendar == Calendar::kStandard && IsBefore(date, kFirstGregorian)) {
    return DaysWithLeapYears(false, date) - DaysWithLeapYears(false, kFirstGregorianAsJulian) +
           DaysWithLeapYears(true, kFirstGregorian);
  }
  return DaysWithLeapYears(true, date);
}

int64_t Epoch(Calendar calendar) { return CountDays(calendar, {1970, 1, 1}); }

// A reader of text from its beginning.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool done() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }
  bool Skip(std::string_view characters) {
    if (rest_.empty() || characters.find(rest_.front()) == std::string_view::npos) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void SkipBlanks() {
    while (Skip(" ")) {
    }
  }
  // nullopt where there are fewer than `least` digits, or more than `most`.
  std::optional<int64_t> Digits(size_t least, size_t most) {
    size_t count = 0;
    int64_t number = 0;
    while (count < rest_.size() && rest_[count] >= '0' && rest_[count] <= '9') {
      if (count == most) return std::nullopt;
      number = number * 10 + (rest_[count++] - '0');
    }
    if (count < least) return std::nullopt;
    rest_.remove_prefix(count);
    return number;
  }
  // The digits behind a decimal point, as nanoseconds.
  std::optional<int64_t> Fraction() {
    int64_t number = 0;
    size_t count = 0;
    for (; !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9'; rest_.remove_prefix(1)) {
      if (count++ < 9) number = number * 10 + (rest_[0] - '0');
    }
    for (size_t i = count; i < 9; ++i) number *= 10;
    return number;
  }

 private:
  std::string_view rest_;
};

// A date and a time of the day, and how exactly the text tells it.
struct Clock {
  Date date;
  int month_day = 0;  // how many of month and day are given
  Nanoseconds of_day = 0;
  Nanoseconds resolution = 0;  // 0: no time of the day
};

bool ScanDate(Scanner& in, size_t year_digits, size_t least, Clock& clock) {
  const bool is_negative = in.Skip("-");
  const auto year = in.Digits(year_digits, 7);
  if (!year) return false;
  clock.date.year = is_negative ? -*year : *year;
  for (unsigned* part : {&clock.date.month, &clock.date.day}) {
    if (!in.Skip("-")) break;
    const auto number = in.Digits(least, 2);
    if (!number) return false;
    *part = static_cast<unsigned>(*number);
    ++clock.month_day;
  }
  return true;
}

bool ScanTime(Scanner& in, size_t least, Clock& clock) {
  const auto hour = in.Digits(least, 2);
  if (!hour || *hour > 23) return false;
  clock.of_day = *hour * 3600 * kSecond;
  clock.resolution = 3600 * kSecond;
  if (!in.Skip(":")) return true;
  const auto minute = in.Digits(least, 2);
  if (!minute || *minute > 59) return false;
  clock.of_day += *minute * 60 * kSecond;
  clock.resolution = 60 * kSecond;
  if (!in.Skip(":")) return true;
  const auto second = in.Digits(least, 2);
  if (!second || *second > 59) return false;
  clock.of_day += *second * kSecond;
  clock.resolution = kSecond;
  if (!in.Skip(".,")) return true;
  clock.of_day += *in.Fraction();
  clock.resolution = 1;
  return true;
}

// "Z", "UTC", "+01:00", "-5", "0:00": what is added to get UTC. False where it is none of
// these.
bool ScanZone(Scanner& in, Nanoseconds& offset) {
  in.SkipBlanks();
  if (in.done()) return true;
  const std::string word = LowerCase(in.rest());
  if (word == "z" || word == "utc" || word == "gmt") return true;
  // A sign may lack, as in "1970-1-1 0:00:00 0:00".
  const bool is_west = in.Skip("-");
  if (!is_west) in.Skip("+");
  const auto number = in.Digits(1, 4);
  if (!number) return false;
  int64_t minutes = *number > 99 ? *number / 100 * 60 + *number % 100 : *number * 60;
  if (in.Skip(":")) {
    const auto rest = in.Digits(2, 2);
    if (!rest || *number > 99) return false;
    minutes += *rest;
  }
  if (!in.done() || minutes > 24 * 60) return false;
  offset = (is_west ? minutes : -minutes) * 60 * kSecond;
  return true;
}

std::optional<Nanoseconds> UnitOf(std::string_view word, Calendar calendar) {
  constexpr std::array<std::pair<std::string_view, int64_t>, 27> kUnits = {{
#include "model/time_units.inc"
  }};
  for (const auto& [name, unit] : kUnits) {
    if (name == word) return unit;
  }
  const bool is_month = word == "months" || word == "month";
  if (is_month && calendar == Calendar::k360Day) return 30 * kDay;
  return std::nullopt;
}

}  // namespace

std::optional<Calendar> ParseCalendar(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Calendar>, 10> kNames = {{
      {"", Calendar::kStandard},
      {"standard", Calendar::kStandard},
      {"gregorian", Calendar::kStandard},
      {"proleptic_gregorian", Calendar::kProlepticGregorian},
      {"julian", Calendar::kJulian},
      {"noleap", Calendar::kNoLeap},
      {"365_day", Calendar::kNoLeap},
      {"all_leap", Calendar::kAllLeap},
      {"366_day", Calendar::kAllLeap},
      {"360_day", Calendar::k360Day},
  }};
  const std::string lower = LowerCase(name);
  for (const auto& [known, calendar] : kNames) {
    if (known == lower) return calendar;
  }
  return std::nullopt;
}

bool IsDate(Calendar calendar, const Date& date) {
  if (date.year < -kMostYears || date.year > kMostYears) return false;
  if (date.month < 1 || date.month > 12 || date.day < 1 || date.day > 31) return false;
  // Days that there are not are others when they are counted.
  return DateOf(calendar, DaysOf(calendar, date)) == date;
}

int64_t DaysOf(Calendar calendar, const Date& date) {
  return CountDays(calendar, date) - Epoch(calendar);
}

Date DateOf(Calendar calendar, int64_t days) {
  days += Epoch(calendar);
  if (HasEqualYears(calendar)) return DateWithEqualYears(calendar, days);
  if (calendar == Calendar::kJulian) return DateWithLeapYears(false, days);
  const int64_t first = DaysWithLeapYears(true, kFirstGregorian);
  if (calendar == Calendar::kStandard && days < first) {
    return DateWithLeapYears(false,
                             days - first + DaysWithLeapYears(false, kFirstGregorianAsJulian));
  }
  return DateWithLeapYears(true, days);
}

std::optional<Nanoseconds> TimeScale::OfInteger(WideInt count) const {
  constexpr auto kMost = static_cast<Nanoseconds>(kMostNanoseconds);
  Nanoseconds time;
  if (__builtin_mul_overflow(count, unit, &time) || time < -kMost || time > kMost) {
    return std::nullopt;
  }
  return origin + time;
}

std::optional<Nanoseconds> TimeScale::OfReal(double count) const {
  if (!std::isfinite(count) || std::abs(count) * static_cast<double>(unit) > kMostNanoseconds) {
    return std::nullopt;
  }
  // Whole units are exact; only the rest of one is rounded.
  const double whole = std::floor(count);
  constexpr double kMicrosecond = 1000;
  const double rest = std::round((count - whole) * static_cast<double>(unit) / kMicrosecond);
  return origin + static_cast<Nanoseconds>(whole) * unit +
         static_cast<Nanoseconds>(rest) * static_cast<Nanoseconds>(kMicrosecond);
}

std::optional<TimeScale> ParseTimeUnits(std::string_view units, std::string_view calendar) {
  TimeScale scale;
  const auto known = ParseCalendar(calendar);
  const std::string lower = LowerCase(units);
  const size_t since = lower.find(" since ");
  if (!known || since == std::string::npos) return std::nullopt;
  scale.calendar = *known;
  const auto unit = UnitOf(lower.substr(0, lower.find(' ')), *known);
  if (!unit) return std::nullopt;
  scale.unit = *unit;
  Scanner in(units.substr(since + std::string_view(" since ").size()));
  in.SkipBlanks();
  Clock clock;
  if (!ScanDate(in, 1, 1, clock) || clock.month_day != 2) return std::nullopt;
  if (!IsDate(*known, clock.date)) return std::nullopt;
  const bool has_separator = in.Skip("Tt ");
  in.SkipBlanks();
  const bool has_time =
      has_separator && !in.done() && in.rest()[0] >= '0' && in.rest()[0] <= '9';
  if (has_time && !ScanTime(in, 1, clock)) return std::nullopt;
  Nanoseconds zone = 0;
  if (!ScanZone(in, zone)) return std::nullopt;
  scale.origin = DaysOf(*known, clock.date) * kDay + clock.of_day + zone;
  return scale;
}

std::optional<TimeScale> TimeScaleOf(const Datatype& type) {
  if (type.kind() != Datatype::Kind::kInteger || !type.time()) return std::nullopt;
  const TimeUnit& time = *type.time();
  if (time.is_delta || time.scale < 1) return std::nullopt;
  constexpr std::array<std::pair<std::string_view, int64_t>, 8> kUnits = {{
      {"W", int64_t{7} * 86400 * 1'000'000'000},
      {"D", int64_t{86400} * 1'000'000'000},
      {"h", int64_t{3600} * 1'000'000'000},
      {"m", int64_t{60} * 1'000'000'000},
      {"s", 1'000'000'000},
      {"ms", 1'000'000},
      {"us", 1000},
      {"ns", 1},
  }};
  for (const auto& [name, unit] : kUnits) {
    if (name == time.unit) {
      return TimeScale{Calendar::kProlepticGregorian, 0, Nanoseconds{unit} * time.scale};
    }
  }
  return std::nullopt;
}

std::optional<Period> ParsePeriod(Calendar calendar, std::string_view text) {
  Scanner in(text);
  Clock clock;
  if (!ScanDate(in, 4, 2, clock)) return std::nullopt;
  if (!IsDate(calendar, clock.date)) return std::nullopt;
  if (!in.done()) {
    if (clock.month_day != 2 || !in.Skip("T_ ")) return std::nullopt;
    if (!ScanTime(in, 2, clock)) return std::nullopt;
    if (in.rest() == "Z") in.Skip("Z");
    if (!in.done()) return std::nullopt;
  }
  Period period;
  period.begin = DaysOf(calendar, clock.date) * kDay + clock.of_day;
  if (clock.resolution != 0) {
    period.end = period.begin + clock.resolution;
  } else if (clock.month_day == 2) {
    period.end = period.begin + kDay;
  } else {
    Date next = clock.date;
    if (clock.month_day == 0 || next.month == 12) {
      next = {next.year + 1, 1, 1};
    } else {
      ++next.month;
    }
    period.end = DaysOf(calendar, next) * kDay;
    period.is_longer_than_day = true;
  }
  return period;
}

std::string FormatTime(Calendar calendar, Nanoseconds time, int digits) {
  const Nanoseconds rest = time % kDay;
  const Nanoseconds of_day = rest < 0 ? rest + kDay : rest;
  const Date date = DateOf(calendar, static_cast<int64_t>((time - of_day) / kDay));
  const auto seconds = static_cast<int64_t>(of_day / kSecond);
  // Four digits at least, also behind a sign.
  std::string text = fmt::format("{}{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
                                 date.year < 0 ? "-" : "", std::abs(date.year), date.month,
                                 date.day, seconds / 3600, seconds / 60 % 60, seconds % 60);
  if (digits == 0) return text;
  const std::string fraction = fmt::format("{:09}", static_cast<int64_t>(of_day % kSecond));
  return text + '.' + fraction.substr(0, static_cast<size_t>(digits));
}

}  // namespace ndlfs::model
