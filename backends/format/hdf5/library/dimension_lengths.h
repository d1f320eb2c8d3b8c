// SPDX-License-Identifier: MIT
//
// How long unlimited dimensions are in netCDF-4, where a variable may be
// stored shorter than its dimension, or not at all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/format/hdf5/library/handle.h"
#include "backends/format/hdf5/library/library.h"

namespace ndlfs::backends::hdf5 {

// Knows the lengths in one version of a file. netCDF-C finds a length by asking all variables
// in the group of the dimension, and in the groups below, for their number of records. The
// first question does the same, once for all dimensions. Needs library_mutex.
class DimensionLengths {
 public:
  // Fills in `netcdf_shape` of the dataset at `path`, and the extents of its unlimited scales,
  // which must be there already. Does nothing unless netCDF-C finds all dimensions of the
  // dataset: a scale of each in its group or in one around it. Adds a note if the lengths are
  // not known, or not for certain. Fails only if the file cannot be read; then the next call
  // tries again.
  model::Result<void> Complete(hid_t file, hid_t dataset, const std::string& path,
                               ObjectInfo& info);

 private:
  struct Dimension {
    std::string group;  // the path of the group that defines it
    uint64_t length = 0;
  };
  class Walk;

  model::Result<void> Load(hid_t file);
  // Loads the lengths, and adds the notes about that to `info`. Returns whether they are known.
  model::Result<bool> LoadFor(hid_t file, ObjectInfo& info);
  void CompleteScales(hid_t file, const std::string& path, DatasetInfo& info,
                      std::vector<uint64_t>& shape) const;
  // The length of the dimension, if it is an unlimited one that a dataset at `path` may have.
  std::optional<uint64_t> Find(haddr_t scale, const std::string& path) const;

  bool loaded_ = false;
  std::optional<model::Error> error_;                 // there are too many objects
  bool has_skipped_ = false;                          // an object that cannot be read
  std::unordered_map<haddr_t, Dimension> unlimited_;  // by the address of the scale
};

}  // namespace ndlfs::backends::hdf5
