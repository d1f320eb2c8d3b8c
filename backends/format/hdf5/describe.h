// SPDX-License-Identifier: MIT
//
// Describes a dataset and the attributes of an object by their messages (HDF5 File Format
// Specification, IV.A.2).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/format/hdf5/info.h"
#include "backends/format/hdf5/object.h"
#include "backends/format/hdf5/object_index.h"

namespace ndlfs::backends::hdf5 {

// Describes everything but the scales.
model::Result<DatasetInfo> DescribeDataset(const std::shared_ptr<const Metadata>& file,
                                           const Object& dataset, ObjectIndex& index,
                                           std::vector<std::string>& notes);

// Reads the attributes of `object` except those in `left_out` into `info`, and notes there
// which could not be read.
void ReadAttributes(const Object& object, const std::vector<std::string>& left_out,
                    ObjectIndex& index, ObjectInfo& info);

}  // namespace ndlfs::backends::hdf5
