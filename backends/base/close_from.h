// SPDX-License-Identifier: MIT
#pragma once

namespace ndlfs::backends {

// Closes all descriptors from `first` on. Linux has a system call for it since 5.9; before,
// they are looked for in /proc/self/fd. False if some may still be open. For a process with one
// thread.
bool CloseFrom(int first);
// Only by looking for them.
bool CloseFromByLooking(int first);

}  // namespace ndlfs::backends
