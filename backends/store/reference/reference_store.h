// SPDX-License-Identifier: MIT
//
// Kerchunk reference files: JSON documents that say, for each key of a Zarr
// store, what its value is, or in which part of which other file it stands.
//
//   {"version": 1, "templates": {"u": "data/a.nc"}, "refs": {
//      ".zgroup": "{\"zarr_format\": 2}",       the value as text
//      "t/.zarray": {"zarr_format": 2, ...},     the value as JSON
//      "t/0.0": "base64:AAEC",                   as base64
//      "t/0.1": ["{{u}}", 4096, 1024],           a part of a file
//      "t/1.0": ["data/b.bin"]}}                 a whole file
//
// Version 0 is the object `refs` alone. "gen" makes more references by rules
// (generator.h); template.h says what may stand in {{ }}.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "backends/store/source.h"
#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends::kerchunk {

class ReferenceStore : public Store {
 public:
  // Where the values of keys below `prefix` are, if that is where they cannot
  // be read: the first of them that is remote, or outside the source tree, as
  // an error; else nothing.
  virtual model::Result<void> CheckReachable(std::string_view prefix) const = 0;
};

// Reads the references of the file at `path`. Files that they name are
// relative to its folder, or absolute within the source tree. kBadInput for
// what is no reference file.
model::Result<std::shared_ptr<const ReferenceStore>> OpenReferences(
    std::shared_ptr<const Source> source, const std::string& path);

}  // namespace ndlfs::backends::kerchunk
