// SPDX-License-Identifier: MIT
#pragma once

#include <semaphore.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <optional>
#include <thread>

#include "model/mutex.h"

struct fuse_session;

namespace ndlfs::fs {

// The threads that take requests from the kernel and serve them. libfuse's own loop has a fixed
// number of threads, and all of them may be busy with requests that take long. This class adds
// a thread whenever none has been free for some milliseconds, so that one always takes the next
// request. Otherwise it keeps few threads: the kernel gives requests to all in turn, and a
// thread that has slept for long is slow.
class Receivers {
 public:
  using Clock = std::chrono::steady_clock;

  // `least` threads serve `session`. `wake` is called when Tick() should be called within some
  // time.
  Receivers(fuse_session* session, unsigned least,
            std::function<void(Clock::duration within)> wake);
  ~Receivers();
  Receivers(const Receivers&) = delete;
  Receivers& operator=(const Receivers&) = delete;

  // Starts the threads, and waits until the session has ended: because it was unmounted, or by
  // a signal that the calling thread gets. Then the threads take no more requests, but may
  // still serve some. Returns 0 or a negative errno.
  int Run();
  // Waits for the threads.
  void Join() EXCLUDES(mutex_);

  // Adds a thread if none is free. Returns when to call it again.
  std::optional<Clock::duration> Tick(Clock::time_point now) EXCLUDES(mutex_);

  // How many threads there are now.
  size_t size() const { return size_.load(std::memory_order_relaxed); }

 private:
  struct Receiver {
    std::thread thread;
    std::atomic<bool> has_ended{false};
  };

  bool Start() EXCLUDES(mutex_);
  void Serve(Receiver& self);
  void JoinEnded() EXCLUDES(mutex_);

  fuse_session* const session_;
  const unsigned least_;
  const std::function<void(Clock::duration)> wake_;
  sem_t ended_;
  std::atomic<int> error_{0};
  std::atomic<unsigned> free_{0};  // threads that wait for a request
  std::atomic<size_t> size_{0};
  std::atomic<bool> is_over_{false};
  std::optional<Clock::time_point> none_free_since_;  // only Tick() uses it
  model::Mutex mutex_;
  std::list<Receiver> receivers_ GUARDED_BY(mutex_);
};

}  // namespace ndlfs::fs
