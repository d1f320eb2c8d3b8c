// SPDX-License-Identifier: MIT
//
// Helpers for keys, for stores of all kinds.
#pragma once

#include <string>
#include <string_view>

#include "model/error.h"

namespace ndlfs::backends {

// "a" + "b/c" -> "a/b/c"; an empty side adds nothing.
std::string JoinKey(std::string_view prefix, std::string_view key);

// Refuses keys that are absolute or have empty, "." or ".." parts, or NULs.
model::Result<void> CheckKey(std::string_view key);

}  // namespace ndlfs::backends
