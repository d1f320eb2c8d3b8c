// SPDX-License-Identifier: MIT
//
// Views that are small trees of files, as folders.
#pragma once

#include <memory>

#include "fs/tree/mount_context.h"
#include "fs/tree/store/mounted_store.h"
#include "fs/tree/store/store_views.h"
#include "fs/tree/tree_node.h"

namespace ndlfs::fs {

// The view `made` of `entity`, an object of `store`: a file (see MakeViewFile()), or a folder.
// A folder stays the same when the view changes, and shows what the view is now; each file in
// it is that of one generation of the whole view. All have the permissions and the time of the
// view.
TreeNodePtr MakeViewNode(MountContext& context, std::shared_ptr<MountedStore> store,
                         EntityPtr entity, EntityViewPtr made);

}  // namespace ndlfs::fs
