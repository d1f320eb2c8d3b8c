// SPDX-License-Identifier: MIT
//
// The files in the folder of a group or an array that are views: which there
// are, and each of them when somebody looks it up.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "fs/tree/kept_views.h"
#include "fs/tree/mounted_store.h"
#include "fs/view/view_provider.h"
#include "model/error.h"

namespace ndlfs::fs {

// The views of `entity`, an object of `store` that could be loaded, in the order of a
// listing, also those that no listing shows. Views that were refused, or that a look at
// their size has refused, have a refusal.
std::vector<ViewName> ListViews(const std::shared_ptr<MountedStore>& store,
                                const EntityPtr& entity);

// Those of them that the options of the mount list. `children` are the names in a group.
// Of a group, loads nothing below it for views that are not listed.
std::vector<ViewName> ListShownViews(const std::shared_ptr<MountedStore>& store,
                                     const EntityPtr& entity,
                                     const std::vector<std::string>& children);

// The view that a program calls `name`. kNotFound where there is none, or it
// is refused; the entity has noted the reason then. Views of arrays cost no
// reading. For the view of a group, metadata of what is below may be read.
model::Result<EntityViewPtr> FindView(const std::shared_ptr<MountedStore>& store,
                                      const EntityPtr& entity, std::string_view name);

}  // namespace ndlfs::fs
