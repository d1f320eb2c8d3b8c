// SPDX-License-Identifier: MIT
//
// NDL path names ("/forecast/wind"), and the file names made of their parts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ndlfs::model {

// "/" + "wind" -> "/wind"; "/forecast" + "wind" -> "/forecast/wind".
std::string JoinPath(std::string_view group, std::string_view name);
// "/forecast/wind" -> "/forecast"; "/wind" and "/" -> "/".
std::string_view ParentPath(std::string_view path);
// "/forecast/wind" -> "wind"; "/" -> "".
std::string_view BaseName(std::string_view path);
// Whether `path` is `group` itself or lies in it at any depth.
bool IsBelow(std::string_view path, std::string_view group);
// "/a/b" -> {"a", "b"}; "/" -> {}. The views point into `path`.
std::vector<std::string_view> SplitPath(std::string_view path);

// The file name of an entity. Different names have different file names.
//   - `/` and NUL become %2F and %00; "." and ".." become %2E and %2E%2E.
//   - A % before two hexadecimal digits becomes %25.
//   - The first byte of a reserved name (model/reserved_names.h) is escaped.
//   - A name whose file name would be longer than 255 bytes, or looks like a
//     shortened one, is cut and ends in `~` and 16 hexadecimal digits: a hash
//     of the whole name.
std::string EncodeFileName(std::string_view name);

// The name with this file name. Returns an empty string if EncodeFileName makes
// `file_name` of no name, or has shortened it: then search the listing.
std::string DecodeFileName(std::string_view file_name);
// Whether `file_name` has the form of a shortened name, which only the listing
// can translate.
bool IsShortenedFileName(std::string_view file_name);

}  // namespace ndlfs::model
