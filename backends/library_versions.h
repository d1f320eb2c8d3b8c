// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace ndlfs::backends {

// The libraries with which this build decodes or confines libeccodes, and their versions at run
// time: "zstd 1.5.4".
std::vector<std::string> LibraryVersions();

}  // namespace ndlfs::backends
