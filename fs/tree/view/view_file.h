// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "fs/tree/mount_context.h"
#include "fs/tree/store/mounted_store.h"
#include "fs/tree/store/store_views.h"
#include "fs/tree/tree_node.h"

namespace ndlfs::fs {

// The node of a file: the view `made` of `entity`, an object of `store`. If that view is a
// directory, the file is `view`, at the path `below` in it; otherwise `below` is empty. The
// node stands for one generation: after the view has changed, Open() fails with kStale, and a
// new lookup finds another node.
TreeNodePtr MakeViewFile(MountContext& context, std::shared_ptr<MountedStore> store,
                         EntityPtr entity, EntityViewPtr made, ViewPtr view, std::string below);

// The same file as a listing tells it. Its size is `size` and not that in `attributes`. `made`
// is null if the view is made of the entity alone.
ListedFile DescribeViewFile(const Entity& entity, const Attributes& attributes, uint64_t size,
                            const EntityView* made = nullptr);

}  // namespace ndlfs::fs
