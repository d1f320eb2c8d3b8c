// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "backends/base/unique_fd.h"
#include "fs/tree/store/mounted_store.h"
#include "fs/view/elements/view.h"

namespace ndlfs::fs {

struct MountContext;

// The file of the source that has the bytes of `view`, which is data.npy of an array: all of
// them, and no others. Only an NPY file in which the header is what ndlfs would write is such a
// file, in the version that `entity` was loaded from. Opens it as the current caller; none if
// there is no such file, or it cannot be opened.
backends::UniqueFd OpenOriginal(const MountContext& context, const MountedStore& store,
                                const Entity& entity, const View& view, uint64_t size);

}  // namespace ndlfs::fs
