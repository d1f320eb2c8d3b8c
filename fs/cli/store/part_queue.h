// SPDX-License-Identifier: MIT
//
// Runs work on arrays, part by part on several threads, while more work is still being found.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <new>

#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::fs {

// Work that consists of parts, such as the chunks of an array. The queue calls it on several
// threads at once.
class PartedWork {
 public:
  virtual ~PartedWork() = default;
  // Does not change, and is not 0.
  virtual uint64_t part_count() const = 0;
  // The average work of a part, in bytes of elements; never 0.
  virtual uint64_t part_cost() const = 0;
  // Runs the parts [first, first + count), or fewer if `stopping` becomes true. Returns how
  // many.
  virtual uint64_t Run(uint64_t first, uint64_t count, const std::atomic<bool>& stopping) = 0;
  // Whether the rest of the work can be left out: Run() returns at once from now on.
  virtual bool has_enough() const { return false; }
  // Called once after the last part; not at all if the queue was stopped before.
  virtual void Finish() {}
};

// For one run. Thread-safe, except for Run().
class PartQueue {
 public:
  // 0 threads: one a core.
  explicit PartQueue(unsigned threads) : threads_(threads) {}

  // Calls `find` on a thread of its own, which adds the work; runs the work meanwhile; and
  // calls `tick` ten times a second. Returns when all work is done, or after Stop().
  void Run(const std::function<void()>& find, const std::function<void()>& tick)
      EXCLUDES(mutex_);
  // Adds work behind all that was added before. Waits while there is very much to do.
  void Add(std::shared_ptr<PartedWork> work) EXCLUDES(mutex_);

  // Makes Run() return soon, after the parts that are being run. May be called by a signal
  // handler.
  void Stop() { stopping_ = true; }
  bool stopped() const { return stopping_; }

  struct Progress {
    // Work that is done and work that is known, in bytes; the latter is all of it once
    // `all_found`. As double: what hostile metadata promise may be more than 64 bits count.
    double done = 0;
    double total = 0;
    bool all_found = false;
  };
  Progress progress() const EXCLUDES(mutex_);

 private:
  struct Item {
    std::shared_ptr<PartedWork> work;
    uint64_t next = 0;  // the first part that no thread has taken
    // Parts that were not run yet.
    std::shared_ptr<std::atomic<uint64_t>> left = nullptr;
  };
  struct Batch {
    Item item;
    uint64_t count = 0;
  };

  bool WaitForTick() EXCLUDES(mutex_);
  void Work() EXCLUDES(mutex_);
  bool TakeBatch(Batch& batch) EXCLUDES(mutex_);
  void RunBatch(const Batch& batch) EXCLUDES(mutex_);

  const unsigned threads_;
  std::atomic<bool> stopping_{false};
  mutable model::Mutex mutex_;
  model::CondVar changed_;                     // the queue, or the number of threads at work
  std::deque<Item> queue_ GUARDED_BY(mutex_);  // work with parts left to take
  Progress progress_ GUARDED_BY(mutex_);
  unsigned working_ GUARDED_BY(mutex_) = 0;  // threads, including the one that finds work
};

// Limits of commands that read whole stores.

// Memory for decoded chunks. Nobody asks twice for a chunk, so this is room for the chunks that
// are being decoded, and for the indexes of shards.
inline constexpr uint64_t kReadCacheSize = uint64_t{256} << 20;
// Groups that nest deeper are not entered.
inline constexpr int kMaxGroupDepth = 512;

// Calls `function`, which returns a Result, and makes errors of exceptions: a library that is
// out of memory harms one chunk only.
template <typename Function>
auto Guarded(const Function& function) -> decltype(function()) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return model::Limit("out of memory");
  } catch (const std::exception& error) {
    return model::Internal("{}", error.what());
  }
}

}  // namespace ndlfs::fs
