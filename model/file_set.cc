// SPDX-License-Identifier: MIT
#include "model/file_set.h"

#include <chrono>
#include <optional>
#include <set>

#include "model/cf_time.h"
#include "model/number_text.h"

namespace ndlfs::model {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::months;
using std::chrono::seconds;
using std::chrono::sys_seconds;
using std::chrono::year_month_day;
using std::chrono::years;

// --- Numbers

// A pattern around its one number.
struct NumberPattern {
  std::string before;
  std::string after;
  size_t width = 0;
};

Result<NumberPattern> ParseNumberPattern(std::string_view pattern) {
  NumberPattern parsed;
  bool found = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    std::string& text = found ? parsed.after : parsed.before;
    if (pattern[i] != '%') {
      text += pattern[i];
      continue;
    }
    if (i + 1 < pattern.size() && pattern[i + 1] == '%') {
      text += pattern[++i];
      continue;
    }
    size_t end = i + 1;
    while (end < pattern.size() && pattern[end] >= '0' && pattern[end] <= '9') ++end;
    const std::string_view width = pattern.substr(i + 1, end - i - 1);
    const bool is_number = end < pattern.size() && pattern[end] == 'd' && width.size() <= 2 &&
                           (width.empty() || width[0] == '0');
    if (!is_number || found) {
      return BadInput("expected one number such as %d or %03d in {}", Quote(pattern));
    }
    parsed.width = ParseNumber<decltype(parsed.width)>(width).value_or(0);
    found = true;
    i = end;
  }
  if (!found) return BadInput("expected a number such as %d or %03d in {}", Quote(pattern));
  return parsed;
}

Result<std::vector<std::string>> ExpandNumbers(const FileSet& files) {
  NDLFS_TRY(const NumberPattern pattern, ParseNumberPattern(files.names.at(0)));
  const __int128 span = static_cast<__int128>(files.to) - files.from;
  if (files.step == 0 || (span != 0 && (span > 0) != (files.step > 0))) {
    return BadInput("from {} to {} by steps of {} has no end", files.from, files.to,
                    files.step);
  }
  const __int128 count = span / files.step + 1;
  if (count > static_cast<__int128>(kMaxParts)) return Limit("more than {} parts", kMaxParts);
  std::vector<std::string> names;
  for (int64_t i = 0; i < count; ++i) {
    names.push_back(fmt::format("{}{:0{}}{}", pattern.before, files.from + i * files.step,
                                pattern.width, pattern.after));
  }
  return names;
}

// --- Dates

// "1992", "1992-01", "1992-01-31", "1992-01-31T06:00": its beginning.
Result<sys_seconds> ParseDate(std::string_view text) {
  constexpr int kLastYear = 9999;
  const auto period = ParsePeriod(Calendar::kProlepticGregorian, text);
  const Nanoseconds end =
      Nanoseconds{DaysOf(Calendar::kProlepticGregorian, {kLastYear + 1, 1, 1})} * 86400 *
      kNanosecondsOfSecond;
  if (!period || text.starts_with('-') || text.find('_') != text.npos || period->begin >= end ||
      period->begin % kNanosecondsOfSecond != 0) {
    return BadInput("expected a date such as 1992-01-31 or 1992-01-31T06:00, found {}",
                    Quote(text));
  }
  return sys_seconds(seconds(static_cast<int64_t>(period->begin / kNanosecondsOfSecond)));
}

// `first` and `count` steps; a day that a month does not have is its last.
std::optional<sys_seconds> After(sys_seconds first, const std::string& unit, int64_t count) {
  if (unit == "s") return first + seconds(count);
  if (unit == "min") return first + minutes(count);
  if (unit == "h") return first + hours(count);
  if (unit == "d") return first + days(count);
  // Beyond every last date, and years have 16 bits.
  const int64_t in_months = unit == "y" ? 12 * count : count;
  if (in_months > 200'000) return std::nullopt;
  const auto day = std::chrono::floor<days>(first);
  year_month_day date{day};
  date += months(in_months);
  if (!date.ok()) date = date.year() / date.month() / std::chrono::last;
  return std::chrono::sys_days(date) + (first - day);
}

bool AppendDirective(char directive, sys_seconds time, std::string& out) {
  const auto day = std::chrono::floor<days>(time);
  const year_month_day date{day};
  const std::chrono::hh_mm_ss clock{time - day};
  const int year = static_cast<int>(date.year());
  switch (directive) {
    case '%':
      out += '%';
      return true;
    case 'Y':
      out += fmt::format("{:04}", year);
      return true;
    case 'y':
      out += fmt::format("{:02}", year % 100);
      return true;
    case 'm':
      out += fmt::format("{:02}", static_cast<unsigned>(date.month()));
      return true;
    case 'd':
      out += fmt::format("{:02}", static_cast<unsigned>(date.day()));
      return true;
    case 'j':
      out +=
          fmt::format("{:03}", (day - std::chrono::sys_days(date.year() / 1 / 1)).count() + 1);
      return true;
    case 'H':
      out += fmt::format("{:02}", clock.hours().count());
      return true;
    case 'M':
      out += fmt::format("{:02}", clock.minutes().count());
      return true;
    case 'S':
      out += fmt::format("{:02}", clock.seconds().count());
      return true;
    default:
      return false;
  }
}

Result<std::string> FormatName(std::string_view pattern, sys_seconds time) {
  std::string name;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      name += pattern[i];
    } else if (++i == pattern.size() || !AppendDirective(pattern[i], time, name)) {
      return BadInput("expected %Y, %m, %d, %H, %M, %S, %j or %y behind each % in {}",
                      Quote(pattern));
    }
  }
  return name;
}

Result<std::vector<std::string>> ExpandDates(const FileSet& files) {
  NDLFS_TRY(const sys_seconds first, ParseDate(files.first), "from");
  NDLFS_TRY(const sys_seconds last, ParseDate(files.last), "to");
  if (last < first) return BadInput("{} comes after {}", files.first, files.last);
  if (files.step <= 0) return BadInput("a step of {}", files.step);
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (int64_t i = 0;; ++i) {
    if (i > static_cast<int64_t>(kMaxParts)) return Limit("more than {} parts", kMaxParts);
    if (files.step > 100'000'000) return Limit("a step of {}{}", files.step, files.unit);
    const auto time = After(first, files.unit, i * files.step);
    if (!time || *time > last) return names;
    NDLFS_TRY(std::string name, FormatName(files.names.at(0), *time));
    if (!seen.insert(name).second) {
      return BadInput("the pattern {} makes the name {} of two dates", Quote(files.names[0]),
                      Quote(name));
    }
    names.push_back(std::move(name));
  }
}

// The character class that `pattern` begins with, at "["; 0 where it is none.
size_t ClassLength(std::string_view pattern) {
  const size_t end = pattern.find(']', 2);
  return end == pattern.npos ? 0 : end + 1;
}

bool IsInClass(std::string_view body, char c) {
  const bool negated = body.starts_with('!') || body.starts_with('^');
  if (negated) body.remove_prefix(1);
  bool found = false;
  for (size_t i = 0; i < body.size(); ++i) {
    if (i + 2 < body.size() && body[i + 1] == '-') {
      found = found || (body[i] <= c && c <= body[i + 2]);
      i += 2;
    } else {
      found = found || body[i] == c;
    }
  }
  return found != negated;
}

// The length of the item that `pattern` begins with if `c` fits it, else 0.
size_t MatchOne(std::string_view pattern, char c) {
  if (pattern[0] == '?') return 1;
  if (const size_t length = pattern[0] == '[' ? ClassLength(pattern) : 0) {
    return IsInClass(pattern.substr(1, length - 2), c) ? length : 0;
  }
  return pattern[0] == c ? 1 : 0;
}

}  // namespace

Result<std::vector<std::string>> ExpandFileSet(const FileSet& files) {
  if (files.form == FileSet::Form::kNumbers) return ExpandNumbers(files);
  if (files.form == FileSet::Form::kDates) return ExpandDates(files);
  if (files.names.size() > kMaxParts) return Limit("more than {} parts", kMaxParts);
  return files.names;
}

bool HasWildcard(std::string_view pattern) {
  return pattern.find_first_of("*?[") != pattern.npos;
}

// Goes back to the last star only: linear in both but for that, at most their product.
bool MatchesGlob(std::string_view pattern, std::string_view name) {
  if (name.starts_with('.') && !pattern.starts_with('.')) return false;
  size_t p = 0, n = 0;
  std::optional<size_t> star;
  size_t star_end = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_end = n;
    } else if (const size_t length =
                   p < pattern.size() ? MatchOne(pattern.substr(p), name[n]) : 0) {
      p += length;
      ++n;
    } else if (star) {
      p = *star + 1;
      n = ++star_end;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace ndlfs::model
