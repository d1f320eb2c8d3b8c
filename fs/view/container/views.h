// SPDX-License-Identifier: MIT
//
// Files and directories that hold the arrays of a group, or an array as a container.
#pragma once

#include "fs/view/base/view_kind.h"

namespace ndlfs::fs {

extern const GroupViewKind kNetcdfView;     // data.nc
extern const ArrayViewKind kZarrArrayView;  // data.zarr/
extern const GroupViewKind kZarrGroupView;
extern const ArrayViewKind kZarr2ArrayView;  // data.zarr2/
extern const GroupViewKind kZarr2GroupView;
extern const GroupViewKind kValuesZarrView;  // values.zarr/
extern const GroupViewKind kValuesZarr2View;
extern const ArrayViewKind kPyramidView;  // data.ome.zarr/
extern const GroupViewKind kHdf5View;     // data.h5, in builds with libhdf5
// data.nc4, another name of data.h5: GDAL and others go by the name.
extern const GroupViewKind kNetcdf4View;

}  // namespace ndlfs::fs
