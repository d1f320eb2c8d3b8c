// SPDX-License-Identifier: MIT
//
// What stores of all kinds do with keys and versions.
#pragma once

#include <string>
#include <string_view>

#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends {

// "a" + "b/c" -> "a/b/c"; an empty side adds nothing.
std::string JoinKey(std::string_view prefix, std::string_view key);

// Refuses keys that are absolute or have empty, "." or ".." parts, or NULs.
model::Result<void> CheckKey(std::string_view key);

// Whether an error of opening means that there is no such file.
bool IsAbsent(const model::Error& error);

// The same bytes. The time of the last status change is none of ours: it is
// another one when the name has been removed, too, and the bytes are as they
// were.
bool IsSameVersion(const FileStamp& a, const FileStamp& b);

}  // namespace ndlfs::backends
