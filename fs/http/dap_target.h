// SPDX-License-Identifier: MIT
//
// URLs of DAP 2 and DAP 4: that of a dataset, with an extension that says what is wanted of it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fs/http/reply.h"

namespace ndlfs::fs {

// The file of the tree that answers a request of DAP (fs/view/dap/).
struct DapTarget {
  std::vector<std::string> folder = {};  // the path of the group
  std::string name = {};                 // "data[t2m[0:3]].dods"
  std::string description = {};  // the file that describes the whole dataset: "data.dds"
  std::string version = {};      // of DAP: "2.0"
  // Fields of the reply: that of its type, and others.
  std::vector<std::pair<std::string, std::string>> fields = {};
};

// The places to look for it, one after the other: the dataset of a group is called like its
// folder or, behind that, like a netCDF file in the folder: "/era5.zarr.dds" and
// "/era5.zarr/data.nc.dds" are the same. Empty if the target has no such extension.
std::vector<DapTarget> FindDapTargets(const RequestTarget& target);

// Whether the request is one of DAP, by its URL.
bool IsForDap(const RequestTarget& target);

// Gives a reply with an error to a request of DAP the body that its clients read: the object
// `Error` of DAP 2 (ESE-RFC-004.1.2, section 7.2), or the document `Error` of DAP 4.
void DescribeDapError(const RequestTarget& target, HttpReply& reply);

}  // namespace ndlfs::fs
