// SPDX-License-Identifier: MIT
//
// References of kerchunk in Parquet files, for more chunks than a JSON document should have.
// They are a directory:
//
//   .zmetadata        {"metadata": {"t/.zarray": {...}, ...}, "record_size": 10000}
//   t/refs.0.parq     a table with a row for each of the first 10000 chunks of the array t, in
//   t/refs.1.parq     C order: path, offset and size, or the bytes themselves
//
// A file that is not there has only absent chunks.
#pragma once

#include <memory>
#include <string>

#include "backends/store/reference/reference_store.h"
#include "backends/store/source.h"
#include "model/error.h"

namespace ndlfs::backends::kerchunk {

// Whether the directory at `path`, which has a file .zmetadata, has such references. Reads the
// ends of that file, and all of it only if they look so.
model::Result<bool> HasParquetReferences(const Source& source, std::string_view path);

// Opens the references in the directory at `path`: reads .zmetadata, and no table. A table is
// read when one of its chunks is asked for. Paths in tables are relative to the folder of the
// table or to the directory, absolute within the source tree, or URLs that the source opens.
model::Result<std::shared_ptr<const ReferenceStore>> OpenParquetReferences(
    std::shared_ptr<const Source> source, const std::string& path);

}  // namespace ndlfs::backends::kerchunk
