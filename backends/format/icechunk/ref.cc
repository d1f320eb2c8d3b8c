// SPDX-License-Identifier: MIT
#include "backends/format/icechunk/ref.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "backends/format/icechunk/object_id.h"
#include "model/cf_time.h"

namespace ndlfs::backends::icechunk {
namespace {

constexpr model::Nanoseconds kNsPerUs = 1000;

// Microseconds since 1970. A day, a month or a year is its end.
std::optional<int64_t> ParseTime(std::string_view text) {
  const auto period = model::ParsePeriod(model::Calendar::kProlepticGregorian, text);
  if (!period) return std::nullopt;
  const bool is_instant = text.find_first_of("T_ ") != text.npos;
  const auto time = (is_instant ? period->begin : period->end - kNsPerUs) / kNsPerUs;
  if (time < INT64_MIN || time > INT64_MAX) return std::nullopt;
  return static_cast<int64_t>(time);
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
  return model::FormatTime(model::Calendar::kProlepticGregorian,
                           static_cast<model::Nanoseconds>(time_us) * kNsPerUs, 6) +
         'Z';
}

}  // namespace ndlfs::backends::icechunk
