// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace ndlfs::fs {

// The state of a thread that waits for an answer.
enum class CallerState {
  kWaits,
  kIsAsked,  // it handles SIGINT, SIGTERM, SIGHUP or SIGQUIT, which has come
  kEnds,     // it has ended, or a signal ends it as soon as it no longer waits
};

// The state of the thread `tid` of this PID namespace, by /proc. kWaits if the system does not
// tell, because `tid` is 0, or the thread belongs to a hidden namespace or user.
CallerState LookAtCaller(pid_t tid);

// The text of a small file of /proc. Empty if it cannot be read: the process may end at any
// moment.
std::string ReadProcessFile(const std::string& path);

// The same for the text of /proc/TID/status.
CallerState ParseCallerState(std::string_view status);

}  // namespace ndlfs::fs
