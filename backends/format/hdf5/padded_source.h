// SPDX-License-Identifier: MIT
//
// Variables of netCDF-4 that are stored shorter than their dimensions.
#pragma once

#include <memory>
#include <vector>

#include "backends/format/array_source.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::backends::hdf5 {

// The element that netCDF-C shows where nothing is stored and the file defines no fill value
// (NC_FILL_INT and so on), as decoded.
std::vector<std::byte> NetCdfFill(const model::Datatype& type);

// The array that begins with `stored`, has `shape` (of the same rank, and
// nowhere smaller), and is `fill` where nothing is stored.
model::Result<std::shared_ptr<const ArraySource>> MakePaddedSource(
    std::shared_ptr<const ArraySource> stored, const std::vector<uint64_t>& shape,
    std::vector<std::byte> fill);

}  // namespace ndlfs::backends::hdf5
