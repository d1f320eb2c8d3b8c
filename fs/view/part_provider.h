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

}  // namespace ndlfs::fs
