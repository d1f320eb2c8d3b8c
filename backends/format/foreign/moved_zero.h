// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "backends/codec/codec.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::backends::foreign {

// Decodes elements of the type `stored`. Some of their integers are stored with an offset of
// half their range: FITS stores unsigned integers less 2^(n-1), because it has none, and signed
// bytes plus 2^7. `highest_bytes` are the places, in a decoded element, of the most significant
// bytes of these integers.
model::Result<std::shared_ptr<const ArrayToBytesCodec>> MakeMovedZero(
    const model::Datatype& stored, std::vector<size_t> highest_bytes);

}  // namespace ndlfs::backends::foreign
