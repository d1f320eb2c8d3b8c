// SPDX-License-Identifier: MIT
//
// References of HDF5 as the path names and regions of NDL.
#pragma once

#include <string>

#include "backends/format/hdf5/element_type.h"
#include "backends/format/hdf5/object_index.h"
#include "model/error.h"

namespace ndlfs::backends::hdf5 {

// Resolves the references of one file.
class References final : public ReferenceReader {
 public:
  References(const Metadata& file, ObjectIndex& index, bool regions_as_elements)
      : file_(file), index_(index), regions_as_elements_(regions_as_elements) {}

  // "" for a null reference, and for a dangling one: it leads to nothing, or to an object that
  // no path leads to.
  std::string ObjectPath(uint64_t address) override;

  // The region as JSON text (see array_source.h); "" for a dangling one.
  model::Result<std::string> RegionText(ConstByteSpan region) override;

  // Whether there was a dangling reference.
  bool met_dangling() const { return met_dangling_; }

  // Whether there was a region that is not one block.
  bool met_elements() const { return met_elements_; }

 private:
  const Metadata& file_;
  ObjectIndex& index_;
  const bool regions_as_elements_;
  bool met_elements_ = false;
  bool met_dangling_ = false;
};

}  // namespace ndlfs::backends::hdf5
