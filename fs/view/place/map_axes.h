// SPDX-License-Identifier: MIT
//
// Which axes of an array are those of a map, by the reference system that it has.
#pragma once

#include "fs/view/base/view_input.h"
#include "fs/view/place/geometry.h"
#include "model/error.h"

namespace ndlfs::fs {

// Fills in the reference system and the transform of `geometry`, which describes the axes of
// `input`, and the roles of axes whose own attributes do not suffice. Loads metadata of grid
// mappings and groups where an axis may be one of a map, but reads no chunk. An error is one
// that may pass.
model::Result<void> AddMap(const ArrayInput& input, Geometry& geometry);

}  // namespace ndlfs::fs
