// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/format/array_source.h"
#include "backends/format/hdf5/file.h"
#include "backends/store/source.h"

namespace ndlfs::backends::hdf5 {

// An opened file, and the means to read its chunks.
struct OpenedFile {
  std::shared_ptr<const File> file;
  std::shared_ptr<const Store> store;  // the file is the value ""
  ValueInfo info;                      // of the version that both read
  std::shared_ptr<const Source> source;
  std::string path;  // in `source`
};

// Checks that the description of a dataset does not contradict itself.
model::Result<void> CheckDatasetInfo(const DatasetInfo& info);

// The shape that is shown: that of the dataset, or the one that netCDF-4 gives it.
const std::vector<uint64_t>& ShownShape(const DatasetInfo& info);

// The fill value that is shown where nothing is stored, if the file defines it. If the dataset
// is shown larger than it is, the fill value beyond its end.
std::optional<std::vector<std::byte>> ShownFill(const DatasetInfo& info);

// The data of a dataset, which CheckDatasetInfo() has accepted.
model::Result<std::shared_ptr<const ArraySource>> MakeDatasetSource(const OpenedFile& opened,
                                                                    const DatasetInfo& info,
                                                                    uint64_t max_chunk_bytes);

// Looks at the first elements, where they tell how all of them are shown: the charset of text
// (see TextRule), and whether region references are blocks. Text that is damaged has no
// influence.
model::Result<void> InspectElements(const OpenedFile& opened, DatasetInfo& info);

}  // namespace ndlfs::backends::hdf5
