// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/format/hdf5/library/handle.h"
#include "backends/format/hdf5/library/library.h"
#include "backends/format/hdf5/library/object_index.h"

namespace ndlfs::backends::hdf5 {

// The names of the attributes. They are in the order of their creation if `properties`, with
// which the object was created, say that this order is known. Needs library_mutex.
model::Result<std::vector<std::string>> ListAttributes(hid_t object, hid_t properties);

// Reads the attributes `names` except those in `left_out` into `info`, and notes there which
// could not be read. Needs library_mutex.
void ReadAttributes(hid_t file, hid_t object, const std::vector<std::string>& names,
                    const std::vector<std::string>& left_out, ObjectIndex& index,
                    ObjectInfo& info);

// The text of a scalar attribute; nullopt if there is no such attribute.
std::optional<std::string> ReadTextAttribute(hid_t object, const char* name);
// The integers of an attribute of up to 64 elements; empty where there is none.
std::vector<int64_t> ReadIntegerAttribute(hid_t object, const char* name);

// The extents of a dataspace, and how far they may grow.
struct Extent {
  bool is_null = false;
  std::vector<uint64_t> shape;
  std::vector<uint64_t> max_shape;
};
model::Result<Extent> ReadExtent(hid_t space);

}  // namespace ndlfs::backends::hdf5
