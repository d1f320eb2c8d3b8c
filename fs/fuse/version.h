// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace ndlfs::fs {

// The output of `ndlfs --version`: version, formats, codecs, libraries.
std::string VersionText();

}  // namespace ndlfs::fs
