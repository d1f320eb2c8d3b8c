// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "backends/codec/codec.h"
#include "backends/format/hdf5/library/library.h"

namespace ndlfs::backends::hdf5 {

// Decodes the text in elements to text that is padded with NULs: clears the bytes behind the
// end of text with other paddings. `runs` lie inside of the elements.
std::shared_ptr<const ArrayToArrayCodec> MakeTextCodec(std::vector<TextRun> runs);

}  // namespace ndlfs::backends::hdf5
