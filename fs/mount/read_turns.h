// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <functional>
#include <list>
#include <map>
#include <optional>

#include "model/mutex.h"

namespace ndlfs::fs {

// Whose read is next. A read can take seconds, where a chunk is large or
// memory is short: so only some run at once, the others wait without a thread,
// and threads remain that can say what files there are. Users take turns: who
// has asked for a hundred reads keeps another one waiting for one of them.
// Thread-safe.
class ReadTurns {
 public:
  // Must not throw when it is run.
  using Read = std::function<void()>;

  explicit ReadTurns(unsigned at_once) : at_once_(at_once) {}

  // Runs `read`, and then all that others have left waiting meanwhile; or
  // leaves it to one of the threads that are doing that. Where it throws, for
  // want of memory, the read was not run and will not be.
  void Run(uid_t user, Read read);

 private:
  // The read to run next on this thread; none if it has to go.
  std::optional<Read> Next() EXCLUDES(mutex_);

  const unsigned at_once_;
  model::Mutex mutex_;
  unsigned running_ GUARDED_BY(mutex_) = 0;
  // None of them is empty, and none is there while fewer than `at_once_` run.
  std::map<uid_t, std::list<Read>> waiting_ GUARDED_BY(mutex_);
  uid_t last_ GUARDED_BY(mutex_) = 0;  // whose turn it was
};

}  // namespace ndlfs::fs
