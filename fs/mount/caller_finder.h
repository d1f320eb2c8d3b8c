// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>

#include "backends/store/caller.h"
#include "model/bounded_map.h"
#include "model/mutex.h"

namespace ndlfs::fs {

// Finds out who has sent a request. The kernel tells the user and the group of the process, not
// its supplementary groups: those are read from /proc while the process waits for the answer.
// Where /proc does not tell (the process is in another PID namespace, or acts as somebody else,
// as an NFS server does), they are the ones that the system's database of groups has for the
// user. Thread-safe.
class CallerFinder {
 public:
  // Never null. `pid` is that of the thread, 0 where it has none here.
  backends::CallerPtr Find(uid_t uid, gid_t gid, pid_t pid);

 private:
  // A caller may have 65,536 groups.
  static constexpr uint64_t kMostBytes = uint64_t{4} << 20;

  struct Known {
    gid_t gid;
    backends::CallerPtr caller;
    std::chrono::steady_clock::time_point found_at;
  };

  model::Mutex mutex_;
  // By thread and user.
  model::BoundedMap<uint64_t, Known> known_ GUARDED_BY(mutex_){kMostBytes};
};

}  // namespace ndlfs::fs
