// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "backends/codec/codec.h"
#include "backends/format/precomputed/info.h"

namespace ndlfs::backends::precomputed {

// Decodes "compressed_segmentation" (compressed_segmentation/README.md of the specification) to
// elements of uint32 or uint64, in chunks of (channel, z, y, x) or (z, y, x). `block`: the
// extents of a block along x, y and z.
std::shared_ptr<const ArrayToBytesCodec> MakeSegmentationCodec(const Triple& block);

}  // namespace ndlfs::backends::precomputed
