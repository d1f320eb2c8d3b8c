// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/base/json.h"
#include "backends/format/array_source.h"
#include "model/error.h"

namespace ndlfs::backends::zarr {

// A regular grid as metadata give it: a chunk extent of 0 is taken as 1 where
// the array has no extent either.
model::Result<ChunkGrid> MakeRegularGrid(const std::vector<uint64_t>& shape,
                                         std::vector<uint64_t> chunk_shape);

// The `chunk_grid` of Zarr v3: regular, or rectilinear.
model::Result<ChunkGrid> ParseChunkGrid(const Json& json, const std::vector<uint64_t>& shape);

}  // namespace ndlfs::backends::zarr
