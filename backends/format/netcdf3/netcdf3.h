// SPDX-License-Identifier: MIT
//
// netCDF classic files as hierarchies of one group with all variables.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "backends/format/format.h"

namespace ndlfs::backends {

const Format& NetCdf3Format();

namespace netcdf3 {

// Makes a store whose value "" is the file in its present version.
using StoreMaker = std::function<std::shared_ptr<const Store>()>;

// Reads the header, and reads it again whenever the file has changed.
model::Result<std::shared_ptr<const Hierarchy>> Open(StoreMaker make_store);

}  // namespace netcdf3
}  // namespace ndlfs::backends
