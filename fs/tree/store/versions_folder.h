// SPDX-License-Identifier: MIT
//
// `.versions/` in the folder of a store that has versions:
//
//   branches/NAME, tags/NAME, snapshots/ID   the store at that version
//   at/2026-05-01T00:00                      the version that was current then, by name
//   log.txt                                  the history of the store, as text
#pragma once

#include <memory>

#include "fs/tree/mount_context.h"
#include "fs/tree/store/mounted_store.h"
#include "fs/tree/tree_node.h"

namespace ndlfs::fs {

// The folder `.versions` of `store`. Null if the store has no versions, is itself a version, or
// cannot be opened; the folder of the store then shows the error. A name in it that leads to no
// version is not found. If there was such a version before, the log of problems tells what
// became of it. Fails only with momentary errors of MountedStore::Hierarchy().
model::Result<TreeNodePtr> FindVersionsFolder(MountContext& context,
                                              const std::shared_ptr<MountedStore>& store);

}  // namespace ndlfs::fs
