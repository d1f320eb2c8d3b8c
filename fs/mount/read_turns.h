// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <functional>
#include <list>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "model/mutex.h"

namespace ndlfs::fs {

// Whose read is next. A read can take seconds, where a chunk is large or
// memory is short: so only some run at once, the others wait without a thread,
// and threads remain that can say what files there are. Users take turns: who
// has asked for a hundred reads keeps another one waiting for one of them.
// If the source is slow, reads mostly wait for it, and more of them run, on threads of the
// object's own. Thread-safe.
class ReadTurns {
 public:
  // Must not throw when it is run.
  using Read = std::function<void()>;

  // `at_once` reads run on the threads of the callers. `most`, if given, says how many may
  // run now, with those on threads of the object's own.
  explicit ReadTurns(unsigned at_once, std::function<unsigned()> most = {})
      : at_once_(at_once), most_(std::move(most)) {}
  ~ReadTurns() { Finish(); }
  ReadTurns(const ReadTurns&) = delete;
  ReadTurns& operator=(const ReadTurns&) = delete;

  // Runs `read`, and then all reads that have begun to wait meanwhile. If
  // `at_once` threads are doing that already, leaves `read` to one of them. If
  // Run() throws, for lack of memory, the read was not run and will not be.
  void Run(uid_t user, Read read);

  // Waits until the object's own threads have run all reads that are left. There are no such
  // threads from then on.
  void Finish() EXCLUDES(mutex_);

 private:
  // The read to run next on this thread; nullopt if there is none.
  std::optional<Read> Next() EXCLUDES(mutex_);
  // Whether `read` waits for its turn, in the list of waiting ones of `user`.
  bool Waits(uid_t user, std::list<Read>& read) EXCLUDES(mutex_);
  void StartHelper() REQUIRES(mutex_);

  using Threads = std::list<std::thread>;

  const unsigned at_once_;
  const std::function<unsigned()> most_;
  model::Mutex mutex_;
  unsigned running_ GUARDED_BY(mutex_) = 0;
  // The waiting reads of each user. No list is empty. While fewer than
  // `at_once_` reads run, there is none.
  std::map<uid_t, std::list<Read>> waiting_ GUARDED_BY(mutex_);
  uid_t last_ GUARDED_BY(mutex_) = 0;  // the user whose turn was last
  Threads helpers_ GUARDED_BY(mutex_);
  Threads finished_ GUARDED_BY(mutex_);  // helpers to be joined
  bool is_finished_ GUARDED_BY(mutex_) = false;
};

}  // namespace ndlfs::fs
