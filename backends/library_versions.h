// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace ndlfs::backends {

// The libraries that this build decodes with, or shuts libhdf5 in with, and the
// versions that it runs with: "zstd 1.5.4".
std::vector<std::string> LibraryVersions();

}  // namespace ndlfs::backends
