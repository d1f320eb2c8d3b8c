// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "model/ndl/ndl_reader.h"

namespace ndlfs::backends::ncml {

// Reads a document into the NDL document with the same meaning. Elements and attributes that
// would change the data in a way that this reader does not know are errors, and not ignored.
// `limits` bound time and memory, whatever the bytes are.
model::ParsedDocument ReadNcml(std::string_view text, std::string_view file_name,
                               const model::NdlLimits& limits);

// Whether `head` is the beginning of a document: its first element is <netcdf>, with the name
// space of NcML.
bool LooksLikeNcml(std::string_view head);

}  // namespace ndlfs::backends::ncml
