// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "backends/format/array_source.h"
#include "backends/format/netcdf3/header.h"
#include "model/error.h"

namespace ndlfs::backends::netcdf3 {

// Extents of the values that there are: the record dimension has as many as
// there are records.
std::vector<uint64_t> CurrentShape(const Header& header, const Variable& variable);

// The data of `variable` in the value "" of `store`. Refuses data that would
// begin inside the header, or beyond the end of the file: netCDF-C takes the
// latter for zeros, but nobody has written these.
model::Result<std::shared_ptr<const ArraySource>> MakeVariableSource(
    const Header& header, const Variable& variable, std::shared_ptr<const Store> store);

}  // namespace ndlfs::backends::netcdf3
