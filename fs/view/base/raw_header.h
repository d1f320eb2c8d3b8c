// SPDX-License-Identifier: MIT
//
// Helpers of the headers for data.raw.
#pragma once

#include <string>

#include "fs/view/base/view_input.h"

namespace ndlfs::fs {

// The name of the file with the elements, which lies next to the header.
std::string RawFileName(const ArrayInput& input);
// Whether a listing shows headers of pictures for the array. Lists of numbers, such as
// coordinates, have them by name only.
bool IsListedHeader(const ArrayInput& input);
// The name of the array in characters that have no special meaning in any header: letters,
// digits and "_-." of ASCII; others become '_'. "data" for an array without a name.
std::string NameInHeader(const ArrayInput& input);
// The name of a dimension in such characters; empty if it has none.
std::string PlainName(const std::string& name);
// The number that stands for missing elements; empty if there is none.
std::string MissingText(const ArrayInput& input);

}  // namespace ndlfs::fs
