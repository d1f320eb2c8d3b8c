// SPDX-License-Identifier: MIT
//
// Documents in the Ndarray Data Language as stores. The data of an array are the values in
// the document.
#pragma once

#include <string_view>

#include "backends/format/format.h"
#include "backends/format/ndl/document.h"

namespace ndlfs::backends {

// Recognizes `.ndl.yaml` and `.ndl.yml`, valid or not, and other `.yaml` and `.yml` that are
// valid documents with values of arrays. A document next to a store of the same name
// (example.nc and example.yaml) describes that store, and is not a store itself.
const Format& NdlFormat();

// A language whose documents mean the same as NDL documents.
struct DescriptionLanguage {
  std::string_view name;  // of the format; static
  ndl::TextReader read;
};

// Opens the document at `path` as a store. Its limits are those of NDL documents.
model::Result<std::shared_ptr<const Hierarchy>> OpenDescription(
    std::shared_ptr<const Source> source, const std::string& path, const OpenOptions& options,
    const DescriptionLanguage& language);

}  // namespace ndlfs::backends
