// SPDX-License-Identifier: MIT
//
// Describes one dataset by means of libhdf5, tells where its chunks are, and reads elements
// that only the library can read.
#pragma once

#include <string>
#include <vector>

#include "backends/format/hdf5/library/handle.h"
#include "backends/format/hdf5/library/library.h"
#include "backends/format/hdf5/library/object_index.h"

namespace ndlfs::backends::hdf5 {

// All need library_mutex.

// Describes everything but the scales. `properties` are those that the dataset was created
// with.
model::Result<DatasetInfo> DescribeDataset(hid_t file, hid_t dataset, hid_t properties,
                                           ObjectIndex& index);

model::Result<std::vector<ChunkRecord>> LocateDatasetChunks(hid_t dataset, uint64_t first,
                                                            uint64_t count);

model::Result<Elements> ReadDataset(hid_t file, hid_t dataset, const Block& block,
                                    uint64_t limit, ObjectIndex& index);

}  // namespace ndlfs::backends::hdf5
