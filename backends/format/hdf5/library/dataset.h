// SPDX-License-Identifier: MIT
//
// What libhdf5 says of one dataset, where its chunks are, and its elements
// where only the library can read them.
#pragma once

#include <string>
#include <vector>

#include "backends/format/hdf5/library/handle.h"
#include "backends/format/hdf5/library/library.h"
#include "backends/format/hdf5/library/object_index.h"

namespace ndlfs::backends::hdf5 {

// All need library_mutex.

// Everything but the scales. `properties` are those that the dataset was created with.
model::Result<DatasetInfo> DescribeDataset(hid_t file, hid_t dataset, hid_t properties,
                                           ObjectIndex& index);

model::Result<std::vector<ChunkRecord>> LocateDatasetChunks(hid_t dataset, uint64_t first,
                                                            uint64_t count);

model::Result<Elements> ReadDataset(hid_t file, hid_t dataset, const Block& block,
                                    uint64_t limit, ObjectIndex& index);

}  // namespace ndlfs::backends::hdf5
