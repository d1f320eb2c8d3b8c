// SPDX-License-Identifier: MIT
//
// Times, owners and permissions in the folders of a store. Without sizes.
#pragma once

#include <cstdint>

#include "fs/tree/store/mounted_store.h"
#include "fs/tree/store/store_views.h"
#include "fs/tree/tree_node.h"

namespace ndlfs::fs {

backends::Permissions PermissionsOf(const backends::FileStatus& status);
backends::Permissions PermissionsOf(const Attributes& attributes);

// The attributes of files that are no older and no more open than the store itself.
Attributes FileAttributes(const MountedStore& store);
// The attributes of the files of an entity.
Attributes FileAttributes(const MountedStore& store, const Entity& entity);
// The attributes of a view. It is as closed as everything that it was made of.
Attributes FileAttributes(const MountedStore& store, const Entity& entity,
                          const EntityView& view);

// The attributes of the folder of something that has `status` in the source. Whoever may read a
// file may also enter the folder that stands for it.
Attributes FolderAttributes(const backends::FileStatus& status, int64_t mtime_ns);

}  // namespace ndlfs::fs
