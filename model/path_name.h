// SPDX-License-Identifier: MIT
//
// NDL path names ("/forecast/wind"), and how their parts become file names.
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
// Whether `path` is `group` or the path name of something in it.
bool IsBelow(std::string_view path, std::string_view group);
// "/a/b" -> {"a", "b"}; "/" -> {}. The views point into `path`.
std::vector<std::string_view> SplitPath(std::string_view path);

// True for names that ndlfs itself puts into an entity's folder: .ndl.yaml,
// .source, error.txt, preview.png, index.html, table.csv, and everything that
// begins with "data.", "data[", "values." or "values[".
bool IsReservedFileName(std::string_view file_name);

// The file name of an entity: `/` and NUL become %2F and %00, "." and ".."
// %2E and %2E%2E, a % before two hexadecimal digits %25; a reserved name has
// its first byte escaped. A name that would be longer than 255 bytes, or
// looks as if it had been, is cut and ends in `~` and 16 hexadecimal digits
// of a hash of the whole. One-to-one.
std::string EncodeFileName(std::string_view name);

// The inverse: nullopt-like empty string if `file_name` is not what
// EncodeFileName makes of any name, or was shortened (look it up in the
// listing then).
std::string DecodeFileName(std::string_view file_name);
// True if only the listing can tell which name `file_name` stands for.
bool IsShortenedFileName(std::string_view file_name);

}  // namespace ndlfs::model
