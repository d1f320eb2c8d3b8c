// SPDX-License-Identifier: MIT
//
// Pictures of an array; not in builds without NDLFS_WITH_PNG.
#pragma once

#include "fs/view/base/view_kind.h"

namespace ndlfs::fs {

extern const ArrayViewKind kPreviewView;
extern const ArrayViewKind kThumbnailView;  // thumbnail.png

}  // namespace ndlfs::fs
