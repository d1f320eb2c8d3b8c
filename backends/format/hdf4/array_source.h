// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>

#include "backends/format/array_source.h"
#include "backends/format/hdf4/description.h"
#include "backends/format/hdf4/elements.h"
#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends::hdf4 {

// The file of an array.
struct OpenedFile {
  std::shared_ptr<const Store> store;
  ValueInfo info;  // of the version that the description is of
  std::shared_ptr<const Elements> elements;
};

// The elements of an array. kUnsupported if nobody can decode them; kLimit if a chunk is too
// large.
model::Result<std::shared_ptr<const ArraySource>> MakeArraySource(const OpenedFile& file,
                                                                  ArrayInfo array,
                                                                  uint64_t max_chunk_size);

}  // namespace ndlfs::backends::hdf4
