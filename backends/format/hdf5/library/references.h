// SPDX-License-Identifier: MIT
//
// References of HDF5 as the path names and regions of NDL.
#pragma once

#include <optional>
#include <string>

#include "backends/format/hdf5/library/handle.h"
#include "backends/format/hdf5/library/object_index.h"
#include "model/error.h"

namespace ndlfs::backends::hdf5 {

// Resolves the references of one open file. Needs library_mutex.
class References {
 public:
  References(hid_t file, ObjectIndex& index, bool regions_as_elements)
      : file_(file), index_(index), regions_as_elements_(regions_as_elements) {}

  // The path name of the object. "" for a null reference, and for a dangling one: it leads to
  // nothing, or to an object that no path leads to.
  std::string ObjectPath(const hobj_ref_t& reference);

  // The region as JSON text (see array_source.h); "" for a null reference, and
  // for a dangling one.
  model::Result<std::string> RegionText(const hdset_reg_ref_t& reference);

  // Whether there was a dangling reference.
  bool met_dangling() const { return met_dangling_; }

  // Whether there was a region that is not one block.
  bool met_elements() const { return met_elements_; }

 private:
  // The target of a region reference.
  struct Target {
    std::string path;
    Handle space;  // with the region selected
  };
  // nullopt for a dangling reference.
  model::Result<std::optional<Target>> Follow(const hdset_reg_ref_t& reference);

  const hid_t file_;
  ObjectIndex& index_;
  const bool regions_as_elements_;
  bool met_elements_ = false;
  bool met_dangling_ = false;
};

}  // namespace ndlfs::backends::hdf5
