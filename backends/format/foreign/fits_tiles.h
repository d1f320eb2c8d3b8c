// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "backends/format/foreign/contents.h"
#include "backends/format/foreign/data_files.h"
#include "backends/format/foreign/fits_header.h"
#include "model/error.h"

namespace ndlfs::backends::foreign {

// The data of `image`, whose tiles are in the rows of the table with this header (section 10 of
// the standard). The table begins at `offset` of the file. kUnsupported for compressions other
// than GZIP_1, GZIP_2, RICE_1, PLIO_1 and NOCOMPRESS.
model::Result<std::shared_ptr<const ArraySource>> MakeTileSource(const FitsHeader& header,
                                                                 const DescribedArray& image,
                                                                 const DataFile& file,
                                                                 uint64_t offset,
                                                                 const OpenOptions& options);

}  // namespace ndlfs::backends::foreign
