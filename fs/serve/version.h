// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace ndlfs::fs {

// The output of `ndlfs --version`: version, formats, codecs, libraries. `front_ends` are the
// libraries that only some front ends use, with their versions.
std::string VersionText(const std::vector<std::string>& front_ends);

}  // namespace ndlfs::fs
