// SPDX-License-Identifier: MIT
//
// Lines for other programs that open the files of an array or of a group.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "fs/view/view_input.h"
#include "fs/view/view_provider.h"

namespace ndlfs::fs {

// Whether `files` has one of this name that can be read.
bool HasFile(std::span<const ViewName> files, std::string_view name);

// A section with such lines, as far as `files` has what they open. `folder` is the absolute
// path of the folder of the array or group in a mount; where it is empty, the lines name files
// of the working directory.
std::string ArrayLinesHtml(const ArrayInput& array, std::span<const ViewName> files,
                           std::string_view folder);
std::string GroupLinesHtml(std::span<const ViewName> files, std::string_view folder);

}  // namespace ndlfs::fs
