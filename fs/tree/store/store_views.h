// SPDX-License-Identifier: MIT
//
// The views in the folder of a group or an array: lists them, and makes each
// when it is looked up.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/tree/store/kept_views.h"
#include "fs/tree/store/mounted_store.h"
#include "fs/view/all_views.h"
#include "model/error.h"

namespace ndlfs::fs {

// All views of `entity`, an object of `store` that could be loaded, in the order of a listing.
// Includes those that no listing shows. A view has a refusal if its kind refuses the entity, or
// if the search for its size has failed for good.
std::vector<ViewName> ListViews(const std::shared_ptr<MountedStore>& store,
                                const EntityPtr& entity);

// The views in that list which the options of the mount show. `children` are the names in a
// group. For a group, loads nothing below it for views that are not listed.
std::vector<ViewName> ListShownViews(const std::shared_ptr<MountedStore>& store,
                                     const EntityPtr& entity,
                                     const std::vector<std::string>& children);

// The view that a program calls `name`, which is parsed once. kNotFound if there is none, or if
// it is refused; the entity then has the reason. Reads nothing for a view of an array. For a
// view of a group, may read the metadata of objects below it.
model::Result<EntityViewPtr> FindView(const std::shared_ptr<MountedStore>& store,
                                      const EntityPtr& entity, std::string_view name);

// A view that was found before, as it is now, and what was found in it.
struct FoundView {
  EntityPtr entity;
  EntityViewPtr made;
  ViewNode node;  // at the path in the view
};

// Finds the view `name`, a true name, of the object at `path` once more, and in it what is at
// the path `below` (empty: the view itself). kStale if there is no such thing any more: it has
// to be looked up again.
model::Result<FoundView> FindViewAgain(const std::shared_ptr<MountedStore>& store,
                                       const std::string& path, const std::string& name,
                                       const std::string& below);

// Whether the entity is of the kind that has the view `name`, without making it. FindView() may
// still refuse that view.
bool MayHaveView(const std::shared_ptr<MountedStore>& store, const EntityPtr& entity,
                 std::string_view name);

// The size of the view `name` (a true name) of an array, if that is known without making the
// view. The view must be made of nothing but `entity`.
std::optional<uint64_t> FindViewSize(const MountedStore& store, const EntityPtr& entity,
                                     std::string_view name);

}  // namespace ndlfs::fs
