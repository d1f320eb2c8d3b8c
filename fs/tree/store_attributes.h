// SPDX-License-Identifier: MIT
//
// Times, owners and permissions in the folders of a store. Sizes are 0.
#pragma once

#include <cstdint>

#include "fs/tree/mounted_store.h"
#include "fs/tree/store_views.h"
#include "fs/tree/tree_node.h"

namespace ndlfs::fs {

backends::Access AccessBy(const backends::FileStatus& status);
backends::Access AccessBy(const Attributes& attributes);

// What files have that are no older and no more open than the store itself.
Attributes FileAttributes(const MountedStore& store);
// What the files of an entity have.
Attributes FileAttributes(const MountedStore& store, const Entity& entity);
// What a view has: it is as closed as all that went into it.
Attributes FileAttributes(const MountedStore& store, const Entity& entity,
                          const EntityView& view);

// The folder of what is at `status` in the source: who may read a file may
// also enter the folder that stands for it.
Attributes FolderAttributes(const backends::FileStatus& status, int64_t mtime_ns);

}  // namespace ndlfs::fs
