// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "fs/tree/mount_context.h"
#include "fs/tree/mounted_store.h"
#include "fs/tree/store_views.h"
#include "fs/tree/tree_node.h"

namespace ndlfs::fs {

// The file of the view `made` of `entity`, an object of `store`. It is that of one generation:
// once the view has changed, Open() fails with kStale, and a new lookup finds another node.
TreeNodePtr MakeViewFile(MountContext& context, std::shared_ptr<MountedStore> store,
                         EntityPtr entity, EntityViewPtr made);

}  // namespace ndlfs::fs
