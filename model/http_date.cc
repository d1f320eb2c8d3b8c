// SPDX-License-Identifier: MIT
#include "model/http_date.h"

#include <fmt/format.h>

#include <array>
#include <ctime>

namespace ndlfs::model {
namespace {

constexpr std::array<const char*, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<const char*, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                 "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

std::string_view TrimBlanks(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

std::string FormatHttpDate(int64_t seconds) {
  std::tm time = {};
  const auto when = static_cast<std::time_t>(seconds);
  if (::gmtime_r(&when, &time) == nullptr) return FormatHttpDate(0);
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT",
                     kDays[static_cast<size_t>(time.tm_wday)], time.tm_mday,
                     kMonths[static_cast<size_t>(time.tm_mon)], time.tm_year + 1900,
                     time.tm_hour, time.tm_min, time.tm_sec);
}

std::optional<int64_t> ParseHttpDate(std::string_view text) {
  const std::string date(TrimBlanks(text));
  // The program never sets a locale, so names are English.
  for (const char* form :
       {"%a, %d %b %Y %H:%M:%S", "%A, %d-%b-%y %H:%M:%S", "%a %b %d %H:%M:%S %Y"}) {
    std::tm time = {};
    const char* const end = ::strptime(date.c_str(), form, &time);
    if (end == nullptr) continue;
    const std::string_view zone = TrimBlanks(end);
    if (zone.empty() || zone == "GMT" || zone == "UTC" || zone == "+0000") {
      return ::timegm(&time);
    }
  }
  return std::nullopt;
}

}  // namespace ndlfs::model
