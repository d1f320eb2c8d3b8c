// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "backends/store/caller.h"
#include "model/bounded_map.h"
#include "model/mutex.h"

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

// Finds the caller of a request. The kernel tells the user and the group of the process, but
// not its supplementary groups. CallerFinder reads these from /proc, while the process waits
// for the answer. /proc does not tell them if the process is in another PID namespace, or acts
// for another user, as an NFS server does. CallerFinder then takes the groups of the user from
// the group database of the system. A result is used again for a tenth of a second.
// Thread-safe.
class CallerFinder {
 public:
  // `pid` is the number of the calling thread; 0 if it has none in this PID
  // namespace. Never null.
  backends::CallerPtr Find(uid_t uid, gid_t gid, pid_t pid);

 private:
  // The most memory of the results: a caller may have 65,536 groups.
  static constexpr uint64_t kMostBytes = uint64_t{4} << 20;

  struct Known {
    gid_t gid;
    backends::CallerPtr caller;
    std::chrono::steady_clock::time_point found_at;
  };

  model::Mutex mutex_;
  // Results by thread and user.
  model::BoundedMap<uint64_t, Known> known_ GUARDED_BY(mutex_){kMostBytes};
};

}  // namespace ndlfs::fs
