// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "model/ndl/ndl_reader.h"

namespace ndlfs::backends::ncml {

// Reads a document. The result is the NDL document that says the same. Elements and attributes
// that would change the data in a way that this reader does not know are errors, not ignored.
// `limits` bound time and memory, whatever the bytes are.
model::ParsedDocument ReadNcml(std::string_view text, std::string_view file_name,
                               const model::NdlLimits& limits);

// Whether `head`, the beginning of a file, is one of a document: the first element is <netcdf>,
// with the name space of NcML.
bool LooksLikeNcml(std::string_view head);

}  // namespace ndlfs::backends::ncml
