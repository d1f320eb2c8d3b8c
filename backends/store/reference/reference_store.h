// SPDX-License-Identifier: MIT
//
// Kerchunk reference files. These are JSON documents that have, for each key of
// a Zarr store, the value itself, or the part of another file that is the
// value.
//
//   {"version": 1, "templates": {"u": "data/a.nc"}, "refs": {
//      ".zgroup": "{\"zarr_format\": 2}",       the value as text
//      "t/.zarray": {"zarr_format": 2, ...},     the value as JSON
//      "t/0.0": "base64:AAEC",                   as base64
//      "t/0.1": ["{{u}}", 4096, 1024],           a part of a file
//      "t/1.0": ["data/b.bin"]}}                 a whole file
//
// A file of version 0 is the object `refs` alone. "gen" has rules that make
// more references (generator.h). template.h describes the expressions in {{ }}.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "backends/store/chunk_table.h"
#include "backends/store/source.h"
#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends::kerchunk {

// Tells where values are, so that those in other files are read there.
class ReferenceStore : public Store, public ChunkTable {
 public:
  // Checks the first key that begins with `prefix` and is no metadata. Fails if it refers to a
  // value that cannot be read, because the value is remote or outside the source tree.
  virtual model::Result<void> CheckReachable(std::string_view prefix) const = 0;
};

// Reads the reference file at `path`. References name other files by a path relative to its
// folder, by an absolute path within the source tree, or by a URL that the source opens
// (url_opener.h). kBadInput if it is not a reference file.
model::Result<std::shared_ptr<const ReferenceStore>> OpenReferences(
    std::shared_ptr<const Source> source, const std::string& path);

}  // namespace ndlfs::backends::kerchunk
