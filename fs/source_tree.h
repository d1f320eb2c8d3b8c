// SPDX-License-Identifier: MIT
//
// The nodes of what is shown as it is: directories, plain files, symbolic
// links.
#pragma once

#include <string>

#include "fs/mount_context.h"
#include "fs/tree_node.h"

namespace ndlfs::fs {

// Permissions of the source without those to write; those to execute only for
// directories.
Attributes AttributesOf(const struct ::stat& status);

// The path of `name` in the directory `path` of the source.
std::string JoinSourcePath(const std::string& path, std::string_view name);

// What stands at `path`, stores too; kNotFound where nothing does.
model::Result<TreeNodePtr> FindSourceNode(MountContext& context, const std::string& path);

// The regular file at `path`, byte for byte, whatever it is.
TreeNodePtr MakePlainFile(MountContext& context, const std::string& path,
                          const struct ::stat& status);

// The directory at `path`, whatever it is.
TreeNodePtr MakeMirrorDirectory(MountContext& context, const std::string& path,
                                const struct ::stat& status);

}  // namespace ndlfs::fs
