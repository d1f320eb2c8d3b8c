// SPDX-License-Identifier: MIT
//
// Keeps coordinates of joined arrays, which lie in very many files, from one slice to the next.
#pragma once

#include "fs/view/base/view_input.h"
#include "model/error.h"

namespace ndlfs::fs {

// `coordinates` with all their elements in memory, if they are joined from parts whose versions
// are known, and are not too large. Uses the elements that an earlier call has read, if no part
// has changed since. Otherwise returns `coordinates` as they are. Reads nothing of other
// arrays.
model::Result<ArrayInput> WithKeptElements(const ArrayInput& coordinates);

}  // namespace ndlfs::fs
