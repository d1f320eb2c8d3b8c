// SPDX-License-Identifier: MIT
//
// What the stores of files and directories have in common.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "backends/store/source_root.h"
#include "model/error.h"

namespace ndlfs::backends {

// "a" + "b/c" -> "a/b/c"; an empty side adds nothing.
std::string JoinKey(std::string_view prefix, std::string_view key);

// Refuses keys that are absolute or have empty, "." or ".." parts, or NULs.
model::Result<void> CheckKey(std::string_view key);

// The path beneath `root` of what the file at `file_path` calls `name`: relative
// to its folder, or absolute. nullopt where that leads out of the root by its
// words alone; links are not looked at. The root itself is "".
std::optional<std::string> PathBeneath(const SourceRoot& root, std::string_view file_path,
                                       std::string_view name);

// Whether an error of opening means that there is no such file.
bool IsAbsent(const model::Error& error);

// The stamp of the regular file at `path`; nullopt where there is none.
model::Result<std::optional<FileStamp>> StatFile(const SourceRoot& root, std::string_view path);

// Who may read the file at `path`; nobody where there is none.
model::Result<Access> AccessToFile(const SourceRoot& root, std::string_view path);

// The same bytes. The time of the last status change is none of ours: it is
// another one when the name has been removed, too, and the bytes are as they
// were.
bool IsSameVersion(const FileStamp& a, const FileStamp& b);

// `path` for messages: the root itself goes by its own name.
std::string DescribePath(const SourceRoot& root, std::string_view path);

}  // namespace ndlfs::backends
