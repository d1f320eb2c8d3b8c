// SPDX-License-Identifier: MIT
//
// Arrays whose elements are numbers in the text of a file: NRRD's encoding "ascii", and
// MetaImage's "BinaryData = False".
#pragma once

#include <cstdint>
#include <memory>

#include "backends/format/foreign/data_files.h"
#include "model/error.h"

namespace ndlfs::backends::foreign {

// The source of an array of numbers that are text in `file` from `offset` on. They are in the
// order of the elements, with blanks, line ends and commas between them. Every read of any part
// decodes all. kUnsupported if the elements are not integers or floats that a processor has.
// kLimit if they or their text take more than `max_bytes`. Reads fail (kCorrupt) if a word is
// no such number, or if numbers are missing.
model::Result<std::shared_ptr<const ArraySource>> MakeTextSource(const DescribedArray& array,
                                                                 const DataFile& file,
                                                                 uint64_t offset,
                                                                 uint64_t max_bytes);

}  // namespace ndlfs::backends::foreign
