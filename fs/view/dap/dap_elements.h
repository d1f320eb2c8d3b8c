// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>

#include "backends/format/netcdf3/header.h"
#include "fs/view/elements/element_source.h"
#include "model/error.h"

namespace ndlfs::fs {

// Values of `type`, as netCDF classic stores them, in the encoding of DAP 2 (XDR, RFC 4506) for
// DapTypeOf(type). Read both big-endian. Texts have `string_length` bytes each. A 64-bit
// integer that no double holds is NaN: clients read variables together, so that an error would
// take the others from them. kLimit if the bytes are too many.
model::Result<std::shared_ptr<const ElementSource>> EncodeForDap(
    std::shared_ptr<const ElementSource> values, backends::netcdf3::Type type,
    uint64_t string_length);

}  // namespace ndlfs::fs
