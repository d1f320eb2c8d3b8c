// SPDX-License-Identifier: MIT
//
// Pictures of an array or of an image; not in builds without NDLFS_WITH_PNG.
#pragma once

#include "fs/view/base/view_kind.h"

namespace ndlfs::fs {

extern const ArrayViewKind kPreviewView;
extern const ArrayViewKind kThumbnailView;  // thumbnail.png
// Of groups that are an image of OME-Zarr, or a well: that of its first field.
extern const GroupViewKind kGroupPreviewView;
extern const GroupViewKind kGroupThumbnailView;

}  // namespace ndlfs::fs
