// SPDX-License-Identifier: MIT
//
// Turns elements that the library has read into element streams.
#pragma once

#include <cstddef>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/format/hdf5/library/element_type.h"
#include "backends/format/hdf5/library/references.h"
#include "model/error.h"

namespace ndlfs::backends::hdf5 {

// Puts into little-endian order, in place, the numbers that the library has
// read as big-endian ones (kReversed), also those that vlens point to.
void ReverseNumbers(const MemoryForm& form, std::byte* elements, uint64_t count);

// Appends the `count` elements at `elements` (each form.size long) to `out`, and the place
// where each begins to `offsets`, if given. kLimit if `out` would grow beyond `limit`. Returns
// whether a number had to be rounded (kWideFloat). Call ReverseNumbers() before. Needs
// library_mutex for references.
model::Result<bool> AppendElements(const MemoryForm& form, const std::byte* elements,
                                   uint64_t count, uint64_t limit, References& references,
                                   std::vector<std::byte>& out,
                                   std::vector<uint64_t>* offsets = nullptr);

// A whole element stream: the table, then the elements.
Bytes MakeElementStream(const std::vector<uint64_t>& offsets,
                        const std::vector<std::byte>& elements);

}  // namespace ndlfs::backends::hdf5
