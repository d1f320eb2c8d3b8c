// SPDX-License-Identifier: MIT
#pragma once

namespace ndlfs::backends::hdf5 {

// Gives up, for the rest of the process, everything that answering questions over the socket
// `kHelperSocket` does not need, as far as the kernel can do that: files (Landlock),
// descriptors other than that socket and standard error, other system calls (seccomp; see
// below), capabilities, core dumps. A refused call fails with ENOSYS. For a process of one
// thread. The parent sets how much memory the process may have, see Helper.
void EnterSandbox();

// Whether this build refuses system calls. Builds with sanitizers do not, because sanitizers
// make calls of their own.
bool RefusesSystemCalls();

}  // namespace ndlfs::backends::hdf5
