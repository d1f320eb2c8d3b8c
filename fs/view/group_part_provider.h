// SPDX-License-Identifier: MIT
#pragma once

#include "fs/view/base/view_provider.h"

namespace ndlfs::fs {

// Slices of groups, by name: "data[time=2020-01-01,lat=40:60].nc" is data.nc of the arrays of
// the group, each cut along the named dimensions (see ParseSlice()). An array without such a
// dimension stays whole. The true name has indices if they are the same for all arrays. A slice
// that does not exist has a refusal with kNotFound: no array has the dimension, or an item
// means coordinates for one array and indices for another. `files` must outlive the provider.
class GroupPartProvider final : public GroupViewProvider {
 public:
  explicit GroupPartProvider(const GroupViewProvider& files) : files_(files) {}

  std::vector<ViewName> Names(const GroupInput&) const override { return {}; }
  std::optional<ViewName> Find(const GroupInput& group, std::string_view name) const override;
  model::Result<ViewNode> Make(const GroupInput& group, std::string_view name) const override;

 private:
  const GroupViewProvider& files_;
};

}  // namespace ndlfs::fs
