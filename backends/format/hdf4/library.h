// SPDX-License-Identifier: MIT
//
// What libhdf4 is asked, in its process.
#pragma once

#include <string>

#include "backends/format/hdf4/description.h"
#include "backends/format/hdf4/functions.h"
#include "model/error.h"

namespace ndlfs::backends::hdf4 {

// A description of the file at `path`, which is also open as `descriptor`. What cannot be
// described is left out, or has a problem. `leaves_headers` is that of the question.
model::Result<FileInfo> DescribeFile(const Functions& library, const std::string& path,
                                     int descriptor, bool leaves_headers);

// Elements in C order, little-endian.
model::Result<std::string> ReadElements(const Functions& library, const std::string& path,
                                        const BlockRequest& block);

}  // namespace ndlfs::backends::hdf4
