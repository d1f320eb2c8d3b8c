// SPDX-License-Identifier: MIT
//
// Files and directories that hold the arrays of a group, or an array as a container.
#pragma once

#include "fs/view/base/view_kind.h"

namespace ndlfs::fs {

extern const GroupViewKind kNetcdfView;     // data.nc
extern const ArrayViewKind kZarrArrayView;  // data.zarr/
extern const GroupViewKind kZarrGroupView;
extern const GroupViewKind kHdf5View;  // data.h5, in builds with libhdf5

}  // namespace ndlfs::fs
