// SPDX-License-Identifier: MIT
//
// The nodes of a store: folders for its objects, and in them the views,
// `.ndl.yaml`, `error.txt` and `.source`.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "fs/tree/mount_context.h"
#include "fs/tree/tree_node.h"
#include "model/reserved_names.h"

namespace ndlfs::fs {

// The file in the folder of a store that tells its problems. It may appear at any time.
inline constexpr std::string_view kErrorName = model::kErrorFileName;

// The folder of the store. Opens nothing.
TreeNodePtr MakeStoreFolder(MountContext& context, std::shared_ptr<MountedStore> store);

// The view `name` of the group at `object`, or of the array that the store is, as a file.
// kNotFound if there is none.
model::Result<TreeNodePtr> MakeStoreFile(MountContext& context,
                                         std::shared_ptr<MountedStore> store,
                                         std::string_view object, std::string_view name);

// A folder in place of a store that cannot be shown, with an `error.txt` that has the reason.
TreeNodePtr MakeErrorFolder(std::string reason, const Attributes& folder);

// The text of the symbolic link that shows the link at `path` of a store. The folder of the
// store is at `store_path` of the mount. `target` is a path name of the store, or the path of a
// file relative to that folder. nullopt if the link would lead out of the mount.
std::optional<std::string> LinkText(std::string_view store_path, std::string_view path,
                                    std::string_view target);

}  // namespace ndlfs::fs
