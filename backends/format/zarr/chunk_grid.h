// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/base/json.h"
#include "backends/format/array_source.h"
#include "model/error.h"

namespace ndlfs::backends::zarr {

// Makes the regular grid of Zarr metadata. A chunk extent of 0 counts as 1 along a
// dimension of size 0.
model::Result<ChunkGrid> MakeRegularGrid(const std::vector<uint64_t>& shape,
                                         std::vector<uint64_t> chunk_shape);

// Reads the `chunk_grid` of Zarr v3, regular or rectilinear.
model::Result<ChunkGrid> ParseChunkGrid(const Json& json, const std::vector<uint64_t>& shape);

}  // namespace ndlfs::backends::zarr
