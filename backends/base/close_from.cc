// SPDX-License-Identifier: MIT
#include "backends/base/close_from.h"

#include <dirent.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <vector>

namespace ndlfs::backends {

bool CloseFrom(int first) {
  return ::close_range(static_cast<unsigned>(first), ~0U, 0) == 0 || CloseFromByLooking(first);
}

bool CloseFromByLooking(int first) {
  DIR* const directory = ::opendir("/proc/self/fd");
  if (directory == nullptr) return false;
  std::vector<int> found;
  while (const dirent* entry = ::readdir(directory)) {
    int fd = -1;
    const char* const end = entry->d_name + std::strlen(entry->d_name);
    if (std::from_chars(entry->d_name, end, fd).ptr == end && fd >= first) found.push_back(fd);
  }
  // This closes a descriptor that may be among those found. None takes its number meanwhile.
  ::closedir(directory);
  for (const int fd : found) ::close(fd);
  return true;
}

}  // namespace ndlfs::backends
