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

#include "backends/format/hdf5/info.h"
#include "backends/format/hdf5/object.h"
#include "model/mutex.h"

namespace ndlfs::backends::hdf5 {

// Knows the lengths in one version of a file. netCDF-C finds a length by asking all variables
// in the group of the dimension, and in the groups below, for their number of records. The
// first question does the same, once for all dimensions. Thread-safe.
class DimensionLengths {
 public:
  // Fills in `netcdf_shape` of the dataset at `path`, and the extents of its unlimited scales,
  // which must be there already. Does nothing unless netCDF-C finds all dimensions of the
  // dataset: a scale of each in its group or in one around it. Adds a note if the lengths are
  // not known, or not for certain. Fails only if the file cannot be read; then the next call
  // tries again.
  model::Result<void> Complete(const Object& dataset, const std::string& path, ObjectInfo& info)
      EXCLUDES(mutex_);

 private:
  struct Dimension {
    std::string group;  // the path of the group that defines it
    uint64_t length = 0;
  };
  class Walk;

  model::Result<void> Load(const Metadata& file) REQUIRES(mutex_);
  // Loads the lengths, and adds the notes about that to `info`. Returns whether they are known.
  model::Result<bool> LoadFor(const Metadata& file, ObjectInfo& info) REQUIRES(mutex_);
  void CompleteScales(const Metadata& file, const std::string& path, DatasetInfo& info,
                      std::vector<uint64_t>& shape) const REQUIRES(mutex_);
  // The length of the dimension, if it is an unlimited one that a dataset at `path` may have.
  std::optional<uint64_t> Find(uint64_t scale, const std::string& path) const REQUIRES(mutex_);

  model::Mutex mutex_;
  bool loaded_ GUARDED_BY(mutex_) = false;
  std::optional<model::Error> error_ GUARDED_BY(mutex_);  // there are too many objects
  bool has_skipped_ GUARDED_BY(mutex_) = false;           // an object that cannot be read
  // By the address of the scale.
  std::unordered_map<uint64_t, Dimension> unlimited_ GUARDED_BY(mutex_);
};

}  // namespace ndlfs::backends::hdf5
