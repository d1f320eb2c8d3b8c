// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/format/array_source.h"
#include "backends/format/precomputed/info.h"
#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends::precomputed {

// The extents (channel, z, y, x), without the channel if there is one.
std::vector<uint64_t> ShapeOf(const Info& info, const Scale& scale);

// The array of a scale. Files may be compressed with gzip, and then end in .gz, as programs
// write them that have no server to say so.
model::Result<std::shared_ptr<const ArraySource>> MakeChunkSource(
    std::shared_ptr<const Store> store, const Info& info, const Scale& scale,
    uint64_t max_chunk_size);

}  // namespace ndlfs::backends::precomputed
