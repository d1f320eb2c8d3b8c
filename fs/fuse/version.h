// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace ndlfs::fs {

// What `ndlfs --version` prints: version, formats, codecs, libraries.
std::string VersionText();

}  // namespace ndlfs::fs
