// SPDX-License-Identifier: MIT
//
// Coordinates of joined arrays, which lie in very many files, kept from one slice to the next.
#pragma once

#include "fs/view/base/view_input.h"
#include "model/error.h"

namespace ndlfs::fs {

// `coordinates` with all their elements in memory, if they are joined from parts whose versions
// can be told and are not too large: those that an earlier call has read, as long as no part
// has changed since. Otherwise `coordinates` as they are. Reads nothing of other arrays.
model::Result<ArrayInput> WithKeptElements(const ArrayInput& coordinates);

}  // namespace ndlfs::fs
