// SPDX-License-Identifier: MIT
//
// Images of an array or of a group, for programs that read images.
#pragma once

#include "fs/view/base/view_kind.h"

namespace ndlfs::fs {

extern const ArrayViewKind kTiffView;     // data.tif
extern const ArrayViewKind kFitsView;     // data.fits
extern const ArrayViewKind kMrcView;      // data.mrc
extern const ArrayViewKind kNiftiView;    // data.nii
extern const GroupViewKind kOmeTiffView;  // data.ome.tif

}  // namespace ndlfs::fs
