// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <memory>
#include <string>

#include "backends/format/hdf4/array_source.h"
#include "backends/format/hdf4/description.h"
#include "backends/format/hierarchy.h"

namespace ndlfs::backends::hdf4 {

// The objects of a file by their path names, and second names of arrays.
struct Objects {
  std::map<std::string, std::shared_ptr<const Node>, std::less<>> nodes;
  std::map<std::string, std::string, std::less<>> links;  // path and target
};

// Makes the objects: groups that have arrays, arrays, and for grids of HDF-EOS2 their
// coordinates and the variable `spatial_ref` that says where they lie. kCancelled if the
// request has ended.
model::Result<Objects> MakeObjects(const OpenedFile& file, FileInfo info,
                                   const OpenOptions& options);

}  // namespace ndlfs::backends::hdf4
