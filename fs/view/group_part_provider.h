// SPDX-License-Identifier: MIT
#pragma once

#include "fs/view/base/view_provider.h"

namespace ndlfs::fs {

// Parts of groups, by name: "data[time=2020-01-01,lat=40:60].nc" is data.nc of the arrays of
// the group, each cut along the named dimensions (see ParseSlice());
// "data[mean:lat=4,lon=4].nc" has one number for each block (see MakeBlocks()). Dimension
// coordinates, and arrays that an attribute `coordinates` names, are then the centres of the
// blocks; bounds are those of the blocks, and what `cell_measures` names is summed. In
// "data[chunks:lat=4].zarr" arrays with the dimension have these chunks (see ParseChunks()).
// An array without such a dimension stays whole, and so do the
// groups below. The same for data.zarr and data.zarr2. The true name has indices if they are
// the same for all arrays. A part that does not exist has a refusal with kNotFound: no array
// has the dimension, or an item means coordinates for one array and indices for another.
// `files` must outlive the provider.
class GroupPartProvider final : public GroupViewProvider {
 public:
  explicit GroupPartProvider(const GroupViewProvider& files) : files_(files) {}

  std::vector<ViewName> Names(const GroupInput&) const override { return {}; }
  std::optional<Resolution> Resolve(const GroupInput& group,
                                    std::string_view name) const override;

 private:
  const GroupViewProvider& files_;
};

}  // namespace ndlfs::fs
