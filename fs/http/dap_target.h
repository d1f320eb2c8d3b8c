// SPDX-License-Identifier: MIT
//
// URLs of DAP 2: that of a dataset, with an extension that says what is wanted of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fs/http/parse/request_target.h"
#include "model/error.h"

namespace ndlfs::fs {

// The file of the tree that answers a request of DAP 2 (fs/view/dap/dap_provider.h).
struct DapTarget {
  std::vector<std::string> folder;  // the path of the group
  std::string name;                 // "data[t2m[0:3]].dods"
  std::string description;          // for the field `Content-Description`: "dods-data"
};

// The dataset of a group is called like its folder, or like a netCDF file in it:
// "/era5.zarr.dds" and "/era5.zarr/data.nc.dds" are the same. nullopt if the target has no such
// extension.
std::optional<DapTarget> FindDapTarget(const RequestTarget& target);

}  // namespace ndlfs::fs
