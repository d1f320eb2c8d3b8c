// SPDX-License-Identifier: MIT
#pragma once

#include "backends/format/zarr/array_metadata.h"
#include "backends/format/zarr/node_builder.h"
#include "model/error.h"

namespace ndlfs::backends::zarr {

// Decides how the texts of fixed size of an array are read (see TextRule), because the metadata
// name no charset: by the fill value, and by the first chunk if it has at most 1 MiB. Reads
// nothing for other types. Every error is transient (a chunk that cannot be read at this
// moment); the texts are then as the metadata say.
model::Result<void> DecideCharset(const NodePlace& place, ArrayMetadata& metadata);

}  // namespace ndlfs::backends::zarr
