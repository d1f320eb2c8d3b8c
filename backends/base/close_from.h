// SPDX-License-Identifier: MIT
#pragma once

namespace ndlfs::backends {

// Closes all descriptors from `first` on. Linux has a system call for it since 5.9; on older
// kernels, /proc/self/fd tells which are open. False if some may still be open. For a process
// with one thread.
bool CloseFrom(int first);
// The same, always by way of /proc/self/fd.
bool CloseFromByLooking(int first);

}  // namespace ndlfs::backends
