// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "backends/format/array_source.h"
#include "backends/format/netcdf3/header.h"
#include "model/error.h"

namespace ndlfs::backends::netcdf3 {

// The present extents of a variable; along the record dimension the number of records.
std::vector<uint64_t> CurrentShape(const Header& header, const Variable& variable);

// The data of `variable` in the value "" of `store`. Fails if the data begin inside the
// header or beyond the end of the file. netCDF-C reads zeros in the latter case, but
// nobody has written them.
model::Result<std::shared_ptr<const ArraySource>> MakeVariableSource(
    const Header& header, const Variable& variable, std::shared_ptr<const Store> store);

}  // namespace ndlfs::backends::netcdf3
