// SPDX-License-Identifier: MIT
//
// What libhdf5 says of an object, as an object of NDL.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "backends/format/hdf5/dataset_source.h"
#include "backends/format/hdf5/library/library.h"
#include "backends/format/hierarchy.h"

namespace ndlfs::backends::hdf5 {

// The name by which netCDF-4 shows what the file calls `name`: a variable that
// is called as a dimension, and is not its coordinate, has a prefix there.
std::string_view ShownName(std::string_view name);
std::string PrefixedName(std::string_view name);

// The object at `path` of the file, which `info` describes, without its
// children.
std::shared_ptr<const Node> BuildNode(const OpenedFile& opened, const std::string& path,
                                      const ObjectInfo& info, uint64_t max_chunk_bytes);

}  // namespace ndlfs::backends::hdf5
