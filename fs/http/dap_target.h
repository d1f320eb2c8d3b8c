// SPDX-License-Identifier: MIT
//
// URLs of DAP 2: that of a dataset, with an extension that says what is wanted of it.
#pragma once

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

// The places to look for it, one after the other: the dataset of a group is called like its
// folder or, behind that, like a netCDF file in the folder: "/era5.zarr.dds" and
// "/era5.zarr/data.nc.dds" are the same. Empty if the target has no such extension.
std::vector<DapTarget> FindDapTargets(const RequestTarget& target);

}  // namespace ndlfs::fs
