// SPDX-License-Identifier: MIT
//
// A mutex for clang's thread safety analysis, which libstdc++'s std::mutex has
// no annotations for. Other compilers ignore the annotations.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define NDLFS_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define NDLFS_THREAD_ANNOTATION(x)
#endif

#define CAPABILITY(x) NDLFS_THREAD_ANNOTATION(capability(x))
#define SCOPED_CAPABILITY NDLFS_THREAD_ANNOTATION(scoped_lockable)
#define GUARDED_BY(x) NDLFS_THREAD_ANNOTATION(guarded_by(x))
#define REQUIRES(...) NDLFS_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define ACQUIRE(...) NDLFS_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define RELEASE(...) NDLFS_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define EXCLUDES(...) NDLFS_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

namespace ndlfs::model {

class CAPABILITY("mutex") Mutex {
 public:
  void Lock() ACQUIRE() { mutex_.lock(); }
  void Unlock() RELEASE() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~MutexLock() RELEASE() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

class CondVar {
 public:
  // Releases `mutex` while it waits. May return without a notification: call
  // it in a loop.
  void Wait(Mutex& mutex) REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  // The same, but waits no longer than `duration`.
  void WaitFor(Mutex& mutex, std::chrono::nanoseconds duration) REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait_for(lock, duration);
    lock.release();
  }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace ndlfs::model
