// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

#include "backends/base/unique_fd.h"

namespace ndlfs::fs {

// The process that serves a mount of ndlfs. Move-only.
class MountProcess {
 public:
  // Asks the mount of ndlfs at `mountpoint` for its process. nullopt if it does
  // not answer this user within two seconds.
  static std::optional<MountProcess> Find(const std::string& mountpoint);

  pid_t pid() const { return pid_; }
  // False if it still runs after `timeout`.
  bool WaitForEnd(std::chrono::milliseconds timeout) const;

 private:
  MountProcess(pid_t pid, backends::UniqueFd fd) : pid_(pid), fd_(std::move(fd)) {}
  pid_t pid_;
  backends::UniqueFd fd_;  // of the process: another one may get the same pid_
};

}  // namespace ndlfs::fs
