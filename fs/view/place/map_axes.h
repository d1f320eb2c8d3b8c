// SPDX-License-Identifier: MIT
//
// Finds the axes of an array that are those of a map, by its reference system.
#pragma once

#include "fs/view/base/view_input.h"
#include "fs/view/place/geometry.h"
#include "model/error.h"

namespace ndlfs::fs {

// Fills in the reference system and the transform of `geometry`, which describes the axes of
// `input`, and the roles of axes whose own attributes do not suffice. If an axis may be one of
// a map, loads metadata of grid mappings and groups; reads no chunk. Every error is transient.
model::Result<void> AddMap(const ArrayInput& input, Geometry& geometry);

}  // namespace ndlfs::fs
