// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace ndlfs::backends::helper {

// Files that a library needs.
struct Readable {
  // Folders, and files, that may be read as far as the user may. Names of other files may be
  // asked about.
  std::vector<std::string> paths;
};

// For the rest of the process, gives up all rights that it does not need to answer questions
// over the socket `kHelperSocket`, as far as the kernel can do that. It loses all files but
// `readable` (Landlock), all other system calls (seccomp; see below), capabilities and core
// dumps. A refused call fails with ENOSYS. The process must have one thread. Sets no limits of
// memory and time.
//
// Descriptors stay open: the process closes those that it does not need before. With
// system calls refused, it can send and receive over that socket only, write to standard error
// only, and, if there are `readable` files, read what is open.
//
// Says what is out of reach now.
struct Confinement {
  // All files but `readable`. They are in reach if the kernel has no Landlock, and the process
  // may still open files by system calls: because it needs these, or because this build refuses
  // none.
  bool is_of_files = false;
  bool is_of_calls = false;  // system calls that are not listed
};
Confinement EnterSandbox(const Readable& readable = {});

// Whether this build refuses system calls. Builds with sanitizers do not, because sanitizers
// make calls of their own.
bool RefusesSystemCalls();

}  // namespace ndlfs::backends::helper
