// SPDX-License-Identifier: MIT
//
// Paths below a SourceRoot: what the stores of files and directories share.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "backends/store/local/source_root.h"
#include "model/error.h"

namespace ndlfs::backends {

// The path beneath `root` of what the file at `file_path` calls `name`: relative
// to its folder, or absolute. nullopt where that leads out of the root by its
// words alone; links are not looked at. The root itself is "".
std::optional<std::string> PathBeneath(const SourceRoot& root, std::string_view file_path,
                                       std::string_view name);

// The stamp of the regular file at `path`; nullopt where there is none.
model::Result<std::optional<FileStamp>> StatFile(const SourceRoot& root, std::string_view path);

// `path` for messages: the root itself goes by its own name.
std::string DescribePath(const SourceRoot& root, std::string_view path);

}  // namespace ndlfs::backends
