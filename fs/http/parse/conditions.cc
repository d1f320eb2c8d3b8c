// SPDX-License-Identifier: MIT
#include "fs/http/parse/conditions.h"

#include "fs/http/parse/fields.h"
#include "model/http_date.h"

namespace ndlfs::fs {
namespace {

enum class Comparison { kStrong, kWeak };

// Whether `list`, "*" or tags with commas between them, has `etag`. A list that breaks the
// rules ends where it does.
bool HasTag(std::string_view list, const std::optional<std::string>& etag,
            Comparison comparison) {
  list = TrimBlanks(list);
  if (list == "*") return true;
  while (!list.empty()) {
    const bool is_weak = list.starts_with("W/");
    if (is_weak) list.remove_prefix(2);
    const size_t end = list.find('"', 1);
    if (!list.starts_with('"') || end == list.npos) return false;
    const std::string_view tag = list.substr(0, end + 1);
    if (etag && tag == *etag && (!is_weak || comparison == Comparison::kWeak)) return true;
    list = TrimBlanks(list.substr(end + 1));
    if (!list.empty() && list.front() != ',') return false;
    while (list.starts_with(',')) list = TrimBlanks(list.substr(1));
  }
  return false;
}

// Whether the file is newer than the date; nullopt if it is no date.
std::optional<bool> IsNewerThan(std::string_view date, const Validators& validators) {
  const auto seconds = model::ParseHttpDate(date);
  if (!seconds) return std::nullopt;
  return validators.mtime_seconds > *seconds;
}

}  // namespace

Verdict Evaluate(const Conditions& conditions, const Validators& validators) {
  if (conditions.if_match) {
    if (!HasTag(*conditions.if_match, validators.etag, Comparison::kStrong)) {
      return Verdict::kFailed;
    }
  } else if (conditions.if_unmodified_since) {
    if (IsNewerThan(*conditions.if_unmodified_since, validators).value_or(false)) {
      return Verdict::kFailed;
    }
  }
  if (conditions.if_none_match) {
    const bool has = HasTag(*conditions.if_none_match, validators.etag, Comparison::kWeak);
    return has ? Verdict::kNotModified : Verdict::kSend;
  }
  // Another version may have the same date; where there is a tag, only the tag can tell.
  if (conditions.if_modified_since && !validators.etag &&
      !IsNewerThan(*conditions.if_modified_since, validators).value_or(true)) {
    return Verdict::kNotModified;
  }
  return Verdict::kSend;
}

bool RangeCounts(const Conditions& conditions, const Validators& validators) {
  if (!conditions.if_range) return true;
  return validators.etag && TrimBlanks(*conditions.if_range) == *validators.etag;
}

}  // namespace ndlfs::fs
