// SPDX-License-Identifier: MIT
//
// Reads and decodes every chunk of every array of the given stores, on several threads, for
// `ndlfs check`.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/format/hierarchy.h"
#include "cache/array_check.h"
#include "cache/chunk_cache.h"
#include "fs/cli/store/part_queue.h"
#include "fs/cli/store/store_walk.h"
#include "model/mutex.h"

namespace ndlfs::fs {

// A defect of a store, and its place.
struct Finding {
  std::string path;  // the object; "/" also for the store as such
  uint64_t part = 0;
  std::string reason;  // names chunk and file
};

// All findings of one kind. If there are very many, only the first are kept.
struct Findings {
  static constexpr size_t kMaxKept = 1000;

  uint64_t count = 0;
  std::vector<Finding> kept;

  void Add(Finding finding);
};

// The meaning of an error in reading a store.
enum class Verdict {
  kDamaged,     // its bytes are not what they should be
  kUnreadable,  // the system did not give them: no permission, a failing disk
  kNotChecked,  // this build cannot decode them, or not within the limits
};
Verdict Judge(const model::Error& error);

struct StoreReport {
  std::string location;
  std::string format;
  uint64_t arrays = 0;
  uint64_t chunks = 0;  // checked so far, including absent ones
  uint64_t absent = 0;
  uint64_t bytes = 0;  // decoded
  // Chunks, objects and stores.
  Findings damage;
  Findings unreadable;
  Findings not_checked;
  Findings notes;         // metadata that break their specification; not damage
  bool complete = false;  // false: stopped before all of it was checked
};

// For one run. Thread-safe, except for Run().
class Checker {
 public:
  struct Options {
    unsigned threads = 0;  // 0: one a core
    uint64_t max_chunk_size = uint64_t{1} << 30;
    std::string ref = {};  // as of backends::OpenOptions
  };
  // Gets each store once, in the order in which they were given, on one thread at a time.
  using OnStore = std::function<void(const StoreReport&)>;

  Checker(const Options& options, OnStore on_store);

  // Finds stores: calls `add` for each until that is false.
  using Walk = std::function<void(const std::function<bool(FoundStore)>& add)>;
  // Checks the stores that `walk` finds; calls `tick` ten times a second meanwhile. Then
  // reports stores as well that were begun, but not finished.
  void Run(const Walk& walk, const std::function<void()>& tick);

  PartQueue& queue() { return queue_; }
  bool stopped() const { return queue_.stopped(); }

  struct Progress {
    uint64_t stores = 0;  // found so far
    uint64_t chunks = 0;
    uint64_t damaged = 0;
    uint64_t bytes = 0;
    PartQueue::Progress work = {};
  };
  Progress progress() const EXCLUDES(mutex_);

 private:
  struct Store;
  using StorePtr = std::shared_ptr<Store>;
  class Array;

  bool Add(const FoundStore& found) EXCLUDES(mutex_);
  void TakeStock(const StorePtr& store, const FoundStore& found) EXCLUDES(mutex_);
  // Adds all objects below `path` to the work.
  void AddObjects(const StorePtr& store, const backends::Hierarchy& hierarchy,
                  const std::string& path, int depth) EXCLUDES(mutex_);
  void AddChildren(const StorePtr& store, const backends::Hierarchy& hierarchy,
                   const std::string& path, int depth) EXCLUDES(mutex_);
  void AddArray(const StorePtr& store, const std::string& path,
                std::shared_ptr<const backends::ArraySource> source) EXCLUDES(mutex_);
  void Note(const StorePtr& store, const std::string& path, const model::Error& error,
            uint64_t part = 0) EXCLUDES(mutex_);
  void AddNotes(const StorePtr& store, const std::string& path,
                const std::vector<std::string>& notes) EXCLUDES(mutex_);

  void Count(const StorePtr& store, const cache::ArrayCheck::Part& part) EXCLUDES(mutex_);
  // Called when one of the tasks of a store is done.
  void Finish(const StorePtr& store) EXCLUDES(mutex_);
  // Reports the stores at the front that are finished; at the end also those that are not.
  void ReportFinished(bool is_end) EXCLUDES(mutex_);
  void Report(StoreReport& report) const;

  const Options options_;
  const OnStore on_store_;
  cache::ChunkCache cache_;
  PartQueue queue_;

  model::Mutex report_mutex_;  // taken before mutex_: keeps reports in order
  mutable model::Mutex mutex_;
  std::deque<StorePtr> stores_ GUARDED_BY(mutex_);  // not reported yet, in order
  Progress progress_ GUARDED_BY(mutex_);            // without `work`
};

}  // namespace ndlfs::fs
