// SPDX-License-Identifier: MIT
#pragma once

#include "backends/base/bytes.h"
#include "backends/format/hdf5/library/element_type.h"
#include "backends/format/hdf5/library/element_writer.h"
#include "backends/format/hdf5/library/library.h"

namespace ndlfs::backends::hdf5 {

// Reads a block of a dataset whose elements are of `type`: see File::Read.
// Neither the library's buffers for elements of variable size nor the result
// take more than `limit` bytes. Needs library_mutex.
model::Result<Bytes> ReadElements(hid_t dataset, const ElementType& type, const Block& block,
                                  uint64_t limit, References& references);

}  // namespace ndlfs::backends::hdf5
