// SPDX-License-Identifier: MIT
#pragma once

namespace ndlfs::backends::hdf5 {

// Gives up, for the rest of the process, all that answering questions over the
// socket `kHelperSocket` does not need, as far as the kernel can do that: files
// (Landlock), other descriptors than that socket and standard error, other
// system calls (seccomp; see below), capabilities, core dumps. A call that is refused fails
// with ENOSYS. For a process of one thread. How much memory it may have is set
// by its parent, see Helper.
void EnterSandbox();

// Whether the build refuses system calls: not those with sanitizers, which make
// calls of their own.
bool RefusesSystemCalls();

}  // namespace ndlfs::backends::hdf5
