// SPDX-License-Identifier: MIT
#pragma once

namespace ndlfs::backends::hdf5 {

// Gives up, for the rest of the process, what reading files beneath the
// directory `root_fd` does not need, as far as the kernel can do that: other
// files (Landlock), other system calls (seccomp; see below), core dumps. A call
// that is refused fails with ENOSYS. For a process of one thread. How much
// memory it may have is set by who asks it, see Helper.
void EnterSandbox(int root_fd);

// Whether the build refuses system calls: not those with sanitizers, which make
// calls of their own.
bool RefusesSystemCalls();

}  // namespace ndlfs::backends::hdf5
