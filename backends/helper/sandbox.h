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

// Gives up, for the rest of the process, everything that answering questions over the socket
// `kHelperSocket` does not need, as far as the kernel can do that: files (Landlock) other than
// `readable`, descriptors other than that socket and standard error, other system calls
// (seccomp; see below), capabilities, core dumps. A refused call fails with ENOSYS. For a
// process of one thread. Sets no limits of memory and time.
//
// Returns whether all files but `readable` are out of reach. They are not if the kernel has no
// Landlock, and system calls that open files are needed, or not refused.
bool EnterSandbox(const Readable& readable = {});

// Whether this build refuses system calls. Builds with sanitizers do not, because sanitizers
// make calls of their own.
bool RefusesSystemCalls();

}  // namespace ndlfs::backends::helper
