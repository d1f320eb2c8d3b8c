// SPDX-License-Identifier: MIT
#pragma once

#include "fs/view/base/view_provider.h"

namespace ndlfs::fs {

// Slices of arrays, by name: "data[0,:,10:20].npy", "data[lat=40:60].raw", with every extension
// that `files` has for the part (see ParseSlice()); "values.npy" and the like of arrays of
// numbers (see MakeUnpacked()); and slices of these. In the same brackets: numbers of blocks
// (see MakeBlocks()), dimensions in another order, elements in Fortran order, and chunks of
// Zarr. The slice is cut first, then values are unpacked, then blocks are made. The true name
// of a slice has indices only. A slice that does not exist has a refusal with kNotFound; if
// coordinates could not be read, the error is transient. `files` must outlive the provider.
class PartProvider final : public ArrayViewProvider {
 public:
  explicit PartProvider(const ArrayViewProvider& files) : files_(files) {}

  std::vector<ViewName> Names(const ArrayInput& input) const override;
  std::vector<ViewName> Listed(const ArrayInput& input,
                               const ListedViews& listed) const override;
  std::optional<Resolution> Resolve(const ArrayInput& input,
                                    std::string_view name) const override;

 private:
  const ArrayViewProvider& files_;
};

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
