// SPDX-License-Identifier: MIT
//
// Finds the axes of an array that are those of a map, by its reference system.
#pragma once

#include <optional>
#include <vector>

#include "fs/view/base/view_input.h"
#include "fs/view/place/geometry.h"
#include "model/error.h"

namespace ndlfs::fs {

// Fills in the reference system and the transform of `geometry`, which describes the axes of
// `input`, and the roles of axes whose own attributes do not suffice. If an axis may be one of
// a map, loads metadata of grid mappings and groups; reads no chunk. Every error is transient.
model::Result<void> AddMap(const ArrayInput& input, Geometry& geometry);

// Maps pixel and line of the raster of a part to those of the whole array's. nullopt if the
// part has no raster with the same axes.
std::optional<GeoTransform> PixelsOfPart(const ArrayInput& part);

// Whether GeoZarr's `spatial:` attributes of a group are about an array in it.
bool IsPlaceOf(const std::vector<model::Attribute>& of_group, const ArrayInput& array);

// Makes transforms in attributes, of an array, its grid mapping or its group, those of a part
// with these pixels (PixelsOfPart()), and leaves out what else they say about the whole raster.
void MoveTransforms(const std::optional<GeoTransform>& pixels,
                    std::vector<model::Attribute>& attributes);

}  // namespace ndlfs::fs
