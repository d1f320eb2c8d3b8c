// SPDX-License-Identifier: MIT
#include "backends/format/icechunk/ref.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <utility>

#include "backends/format/icechunk/object_id.h"
#include "model/number_text.h"

namespace ndlfs::backends::icechunk {
namespace {

constexpr int64_t kUsPerSecond = 1'000'000;
constexpr int64_t kUsPerDay = 86'400 * kUsPerSecond;

// Takes so many digits, and `end` behind them if it is not 0.
std::optional<unsigned> TakeDigits(std::string_view& text, size_t count, char end = '\0') {
  std::string_view rest = text;
  const auto number = model::TakeDigits<unsigned>(rest, count);
  if (!number) return std::nullopt;
  if (end != '\0') {
    if (!rest.starts_with(end)) return std::nullopt;
    rest.remove_prefix(1);
  }
  text = rest;
  return number;
}

// A fraction of a second in microseconds, of which digits after the sixth are left out.
std::optional<int64_t> TakeFraction(std::string_view& text) {
  text.remove_prefix(1);
  int64_t fraction = 0;
  int64_t unit = kUsPerSecond;
  bool has_digit = false;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    unit /= 10;
    fraction += unit * (text.front() - '0');
    has_digit = true;
    text.remove_prefix(1);
  }
  return has_digit ? std::optional(fraction) : std::nullopt;
}

std::optional<int64_t> ParseTimeOfDay(std::string_view text) {
  const auto hour = TakeDigits(text, 2, ':');
  const auto minute = TakeDigits(text, 2);
  if (!hour || !minute || *hour > 23 || *minute > 59) return std::nullopt;
  int64_t us = (int64_t{*hour} * 60 + *minute) * 60 * kUsPerSecond;
  if (text.starts_with(':')) {
    text.remove_prefix(1);
    const auto second = TakeDigits(text, 2);
    if (!second || *second > 60) return std::nullopt;
    us += int64_t{*second} * kUsPerSecond;
    if (text.starts_with('.')) {
      const auto fraction = TakeFraction(text);
      if (!fraction) return std::nullopt;
      us += *fraction;
    }
  }
  return text.empty() || text == "Z" ? std::optional(us) : std::nullopt;
}

std::optional<int64_t> ParseTime(std::string_view text) {
  const auto year = TakeDigits(text, 4, '-');
  const auto month = TakeDigits(text, 2, '-');
  const auto day = TakeDigits(text, 2);
  if (!year || !month || !day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(*month), std::chrono::day(*day)};
  if (!date.ok()) return std::nullopt;
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  if (text.empty()) return (days + 1) * kUsPerDay - 1;
  if (text.front() != 'T' && text.front() != ' ') return std::nullopt;
  const auto us = ParseTimeOfDay(text.substr(1));
  return us ? std::optional(days * kUsPerDay + *us) : std::nullopt;
}

// "TIME", or "TIME,REF".
model::Result<Ref> ParseAt(std::string_view text) {
  const size_t comma = text.find(',');
  const std::string_view name = text.substr(0, comma);
  const auto time = ParseTime(name);
  if (!time) {
    return model::BadInput("expected a time such as 2026-05-01T12:30, found {}",
                           model::Quote(name));
  }
  Ref ref{Ref::Kind::kAt, std::string(name), *time};
  if (comma == text.npos) return ref;
  NDLFS_TRY(Ref history, ParseRef(text.substr(comma + 1)));
  if (history.kind == Ref::Kind::kAt) {
    return model::BadInput("{}: a history is that of a branch, tag or snapshot",
                           model::Quote(text));
  }
  ref.history_kind = history.kind;
  ref.history_name = std::move(history.name);
  return ref;
}

}  // namespace

std::string Ref::ToOption() const {
  switch (kind) {
    case Kind::kBranch:
      return "branch=" + name;
    case Kind::kTag:
      return "tag=" + name;
    case Kind::kSnapshot:
      return "snapshot=" + name;
    case Kind::kAt:
      break;
  }
  return "at=" + name + ',' + history().ToOption();
}

std::string Ref::ToText() const {
  switch (kind) {
    case Kind::kBranch:
      return fmt::format("branch {}", model::Quote(name));
    case Kind::kTag:
      return fmt::format("tag {}", model::Quote(name));
    case Kind::kSnapshot:
      return fmt::format("snapshot {}", name);
    case Kind::kAt:
      return fmt::format("version at {}", name);
  }
  return name;
}

model::Result<Ref> ParseRef(std::string_view text) {
  if (text.empty()) return Ref{};
  const size_t equals = text.find('=');
  const std::string_view kind = text.substr(0, equals);
  const std::string_view name = equals == text.npos ? "" : text.substr(equals + 1);
  if (name.empty()) {
    return model::BadInput("expected branch=NAME, tag=NAME, snapshot=ID or at=TIME, found {}",
                           model::Quote(text));
  }
  if (kind == "branch") return Ref{Ref::Kind::kBranch, std::string(name)};
  if (kind == "tag") return Ref{Ref::Kind::kTag, std::string(name)};
  if (kind == "snapshot") {
    NDLFS_RETURN_IF_ERROR(ParseId(name));
    return Ref{Ref::Kind::kSnapshot, std::string(name)};
  }
  if (kind != "at") {
    return model::BadInput("{} is none of branch, tag, snapshot and at", model::Quote(kind));
  }
  return ParseAt(name);
}

std::string TimeText(uint64_t time_us) {
  // Up to the year 9999.
  constexpr uint64_t kMost = 253'402'300'799'999'999;
  if (time_us > kMost) return fmt::format("{} us", time_us);
  const std::chrono::sys_days day(
      std::chrono::days(static_cast<int64_t>(time_us / uint64_t{kUsPerDay})));
  const std::chrono::year_month_day date(day);
  const uint64_t rest = time_us % uint64_t{kUsPerDay};
  const uint64_t seconds = rest / uint64_t{kUsPerSecond};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", int(date.year()),
                     unsigned(date.month()), unsigned(date.day()), seconds / 3600,
                     seconds / 60 % 60, seconds % 60, rest % uint64_t{kUsPerSecond});
}

}  // namespace ndlfs::backends::icechunk
