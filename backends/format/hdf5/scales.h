// SPDX-License-Identifier: MIT
//
// Dimension scales, as the HDF5 dimension scale specification and netCDF-4
// keep them in attributes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/format/hdf5/info.h"
#include "backends/format/hdf5/object.h"
#include "backends/format/hdf5/object_index.h"
#include "model/mutex.h"

namespace ndlfs::backends::hdf5 {

// Whether `dataset` is a scale.
bool IsScale(const Object& dataset);

// Whether `dataset` only stands for a netCDF-4 dimension.
bool IsDimensionOnly(const Object& dataset);

// The attribute DIMENSION_LIST: for each dimension the addresses of its scales; nullopt if the
// attribute is something else.
using ReferenceLists = std::vector<std::vector<uint64_t>>;
std::optional<ReferenceLists> ReadDimensionList(const Object& dataset, size_t rank);

// The dimensions that netCDF-4 defines in `group`, which is at `path`, and that have no
// variable of their name, or one of several dimensions. Each is a scale of one dimension. Only
// searches groups that netCDF-4 may have written.
std::vector<ScaleInfo> ReadDimensions(const Object& group, const std::string& path);

// Scales that were found to belong to datasets of one file. Thread-safe.
class KnownScales {
 public:
  // By netCDF-4's numbers of dimensions.
  using Numbered = std::map<int64_t, ScaleInfo>;

  // The scale at an address, as datasets of `group` see it.
  std::optional<ScaleInfo> Attached(const Metadata& file, uint64_t address,
                                    const std::string& group, ObjectIndex& index)
      EXCLUDES(mutex_);
  // The scales in a group.
  Numbered In(const Metadata& file, const std::string& group) EXCLUDES(mutex_);
  void Clear() EXCLUDES(mutex_);

 private:
  model::Mutex mutex_;
  std::map<std::pair<uint64_t, std::string>, ScaleInfo> attached_ GUARDED_BY(mutex_);
  std::map<std::string, Numbered> numbered_ GUARDED_BY(mutex_);
};

// Fills in the fields of DatasetInfo about scales. `path` is that of the dataset, whose extent
// is known already. Returns the names of those attributes of the dataset that these fields tell
// in full.
std::vector<std::string> ReadScales(const Object& dataset, const std::string& path,
                                    ObjectIndex& index, KnownScales& known, DatasetInfo& info);

}  // namespace ndlfs::backends::hdf5
