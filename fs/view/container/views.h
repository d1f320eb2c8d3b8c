// SPDX-License-Identifier: MIT
//
// Files that hold the arrays of a group.
#pragma once

#include "fs/view/base/view_kind.h"

namespace ndlfs::fs {

extern const GroupViewKind kNetcdfView;  // data.nc
extern const GroupViewKind kHdf5View;    // data.h5, in builds with libhdf5

}  // namespace ndlfs::fs
