// SPDX-License-Identifier: MIT
//
// Zarr hierarchies in ZIP archives: at the root of the archive, or one folder down if the
// directory was zipped from its parent.
#pragma once

#include "backends/format/hierarchy.h"

namespace ndlfs::backends {

const Format& ZarrZipFormat();

// Whether a file that begins with `head` (1 KiB, or all of it) is an archive,
// whatever its name is; ConfirmFile() tells whether there is Zarr in it.
bool BeginsAsZip(ConstByteSpan head);

}  // namespace ndlfs::backends
