// SPDX-License-Identifier: MIT
//
// Chunks of a Zarr hierarchy that are the stored bytes of the source, which nobody decodes
// here.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "backends/format/chunk_encoding.h"
#include "cache/array_reader.h"
#include "fs/view/base/view_input.h"
#include "fs/view/container/zarr_chunks.h"
#include "fs/view/container/zarr_types.h"

namespace ndlfs::fs::zarr {

// If the chunks of `array`, which is made of `input`, can be shown as they are stored: says so
// in `array.source`, and returns how they are encoded. Otherwise null. `array` has its shapes,
// and it is known whether chunks may be absent. Reads nothing.
const backends::ChunkEncoding* UseStoredChunks(const ArrayInput& input, const ElementForm& form,
                                               StoredArray& array);

// The file with the chunk at `index` of an array with `source.is_stored`. kNotFound if it is
// absent. A chunk that is not encoded as the documents say is decoded, and written in the same
// form without compression. Damage in the stored bytes is not noticed. Looks at the source; if
// chunks have a head, reads that.
model::Result<ViewPtr> MakeStoredChunk(const std::shared_ptr<const StoredArray>& array,
                                       std::shared_ptr<const cache::ArrayReader> reader,
                                       std::span<const uint64_t> index);

}  // namespace ndlfs::fs::zarr
