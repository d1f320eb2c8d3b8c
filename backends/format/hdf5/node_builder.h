// SPDX-License-Identifier: MIT
//
// Makes nodes of NDL from descriptions of objects.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "backends/format/hdf5/dataset_source.h"
#include "backends/format/hdf5/file.h"
#include "backends/format/hierarchy.h"

namespace ndlfs::backends::hdf5 {

// The name under which netCDF-4 shows the object that the file calls `name`: the name of a
// variable that has the name of a dimension, and is not its coordinate, has a prefix in the
// file.
std::string_view ShownName(std::string_view name);
std::string PrefixedName(std::string_view name);

// The object at `path` of the file, which `info` describes, without its
// children.
std::shared_ptr<const Node> BuildNode(const OpenedFile& opened, const std::string& path,
                                      const ObjectInfo& info, uint64_t max_chunk_bytes);

}  // namespace ndlfs::backends::hdf5
