// SPDX-License-Identifier: MIT
//
// The library ecCodes, which knows what centres call the parameters of their own tables. It is
// asked for names and nothing else, in a process of its own, and only where it is installed.
#pragma once

#include <string>
#include <vector>

namespace ndlfs::backends {

// From now on, asks libeccodes for the names of parameters that the tables here lack. `command`
// starts the process for that; its main() has to return RunEccodesHelper(). A user who sets
// ECCODES_DEFINITION_PATH or ECCODES_EXTRA_DEFINITION_PATH has definitions of their own; then
// libeccodes is asked for all names.
void UseEccodesHelper(std::vector<std::string> command);
int RunEccodesHelper();

}  // namespace ndlfs::backends
