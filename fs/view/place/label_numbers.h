// SPDX-License-Identifier: MIT
#pragma once

#include "fs/view/base/view_input.h"

namespace ndlfs::fs {

// Whether the numbers of an array are those of objects or classes, which have no order and no
// mean: by their type, by attributes, or by how they are called. `whole` is no part.
bool AreLabels(const ArrayInput& whole);

}  // namespace ndlfs::fs
