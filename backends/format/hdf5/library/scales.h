// SPDX-License-Identifier: MIT
//
// Dimension scales, as the HDF5 dimension scale specification and netCDF-4
// keep them in attributes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/format/hdf5/library/handle.h"
#include "backends/format/hdf5/library/library.h"
#include "backends/format/hdf5/library/object_index.h"

namespace ndlfs::backends::hdf5 {

// Whether `dataset` is a scale. Needs library_mutex, as do all functions here.
bool IsScale(hid_t dataset);

// Whether `dataset` only stands for a netCDF-4 dimension. Needs library_mutex.
bool IsDimensionOnly(hid_t dataset);

// The attribute DIMENSION_LIST: for each dimension references to its scales; nullopt if the
// attribute is something else.
using ReferenceLists = std::vector<std::vector<hobj_ref_t>>;
std::optional<ReferenceLists> ReadDimensionList(hid_t dataset, size_t rank);

// The dimensions that netCDF-4 defines in `group`, which is at `path`, and that have no
// variable of their name, or one of several dimensions. Each is a scale of one dimension. Only
// searches groups that netCDF-4 may have written. Needs library_mutex.
std::vector<ScaleInfo> ReadDimensions(hid_t group, const std::string& path);

// Scales that were found to belong to datasets. For one version of a file.
struct KnownScales {
  // By their addresses and the groups of the datasets.
  std::map<std::pair<hobj_ref_t, std::string>, ScaleInfo> attached;
  // The scales in a group, by netCDF-4's numbers of dimensions.
  std::map<std::string, std::map<int64_t, ScaleInfo>> numbered;
};

// The names of the attributes of an object, if they could be listed.
using AttributeNames = model::Result<std::vector<std::string>>;

// Fills in the fields of DatasetInfo about scales. `path` is that of the dataset, whose extent
// is known already. Returns the names of those attributes of the dataset that these fields tell
// in full. Needs library_mutex.
std::vector<std::string> ReadScales(hid_t file, hid_t dataset, const std::string& path,
                                    const AttributeNames& names, ObjectIndex& index,
                                    KnownScales& known, DatasetInfo& info);

}  // namespace ndlfs::backends::hdf5
