// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "fs/tree/mount_context.h"
#include "model/error.h"
#include "model/reserved_names.h"

namespace ndlfs::fs {

// The name of the pages.
inline constexpr std::string_view kPageName = model::kPageFileName;

// The page of a plain directory of the source: links to the pages of its stores and folders,
// and to its files, with their sizes. Looks at each of the first 1,000 entries; the page says
// how many more there are. The size of a store that is a directory is the sum of its files; the
// page counts a few thousand of these in all, and only on this machine. `path` is a path of the
// source. Opens no store.
model::Result<std::string> WriteFolderPage(MountContext& context, const std::string& path);

// The page of a store or an array that cannot be shown. `reason` is the text of `error.txt` in
// its folder.
std::string WriteErrorPage(std::string_view name, std::string_view reason);

}  // namespace ndlfs::fs
