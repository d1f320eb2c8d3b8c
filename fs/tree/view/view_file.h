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

// The file of the view `made` of `entity`, an object of `store`, or one of its files, where the
// view is a directory: `view`, at the path `below` in it (empty: the view itself). It is that
// of one generation: once the view has changed, Open() fails with kStale, and a new lookup
// finds another node.
TreeNodePtr MakeViewFile(MountContext& context, std::shared_ptr<MountedStore> store,
                         EntityPtr entity, EntityViewPtr made, ViewPtr view, std::string below);

// How a listing tells that file: with `attributes`, whose size does not count, and with `size`
// bytes (nullopt: only a scan finds the size). `made` is null if the view is made of the entity
// alone.
ListedFile DescribeViewFile(const Entity& entity, const Attributes& attributes,
                            std::optional<uint64_t> size, const EntityView* made = nullptr);

}  // namespace ndlfs::fs
