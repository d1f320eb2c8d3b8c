// SPDX-License-Identifier: MIT
//
// Conditions of requests (RFC 9110, section 13), and dates in fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ndlfs::fs {

// The fields of a request that are conditions; nullopt if the request lacks one.
struct Conditions {
  std::optional<std::string> if_match = {};
  std::optional<std::string> if_none_match = {};
  std::optional<std::string> if_modified_since = {};
  std::optional<std::string> if_unmodified_since = {};
  std::optional<std::string> if_range = {};
};

// What identifies the version of a file. Equal tags mean equal bytes.
struct Validators {
  std::optional<std::string> etag = {};  // with its quotes; nullopt if nobody can tell
  int64_t mtime_seconds = 0;
};

enum class Verdict {
  kSend,
  kNotModified,  // status 304
  kFailed,       // status 412
};

// For a GET or a HEAD. Fields that cannot be understood do not count, except `If-Match`, which
// then fails.
Verdict Evaluate(const Conditions& conditions, const Validators& validators);

// Whether the field `Range` counts. A date in `If-Range` never holds: two versions may have the
// same date.
bool RangeCounts(const Conditions& conditions, const Validators& validators);

}  // namespace ndlfs::fs
