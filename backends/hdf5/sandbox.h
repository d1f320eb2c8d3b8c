// SPDX-License-Identifier: MIT
#pragma once

namespace ndlfs::backends::hdf5 {

// Gives up, for the rest of the process, what reading files beneath the
// directory `root_fd` does not need, as far as the kernel can do that: other
// files (Landlock), more memory than any answer takes, core dumps.
void EnterSandbox(int root_fd);

}  // namespace ndlfs::backends::hdf5
