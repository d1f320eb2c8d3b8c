// SPDX-License-Identifier: MIT
//
// Reads and decodes every chunk of every array of the stores that it is given,
// on several threads: what `ndlfs check` does.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backends/format/hierarchy.h"
#include "cache/array_check.h"
#include "cache/chunk_cache.h"
#include "fs/cli/store_walk.h"
#include "model/mutex.h"

namespace ndlfs::fs {

// What is wrong in a store, and where.
struct Finding {
  std::string path;  // of the object; "/" also for the store as such
  uint64_t part = 0;
  std::string reason;  // names chunk and file
};

// All findings of one kind; of very many only the first are kept.
struct Findings {
  static constexpr size_t kMaxKept = 1000;

  uint64_t count = 0;
  std::vector<Finding> kept;

  void Add(Finding finding);
};

// What an error in reading a store says of it.
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
  uint64_t chunks = 0;  // that were looked at, the absent ones included
  uint64_t absent = 0;
  uint64_t bytes = 0;  // decoded
  // Chunks, objects and stores.
  Findings damage;
  Findings unreadable;
  Findings not_checked;
  Findings notes;         // metadata that break their specification; not damage
  bool complete = false;  // false: stopped before all of it was checked
};

// For one run. Thread-safe, but for Run().
class Checker {
 public:
  struct Options {
    unsigned threads = 0;  // 0: one a core
    uint64_t max_chunk_size = uint64_t{1} << 30;
    std::string ref = {};  // as of backends::OpenOptions
  };
  // Gets each store once, in the order in which they were given, from one
  // thread at a time.
  using OnStore = std::function<void(const StoreReport&)>;

  Checker(const Options& options, OnStore on_store);

  // Finds stores: calls `add` for each until that is false.
  using Walk = std::function<void(const std::function<bool(FoundStore)>& add)>;
  // Checks what `walk` finds; `tick` is called ten times a second meanwhile.
  // Then stores that were begun, but not finished, are reported too.
  void Run(const Walk& walk, const std::function<void()>& tick);

  // Makes Run() return soon, after the chunks that are being decoded. May be
  // called by a signal handler.
  void Stop() { stopping_ = true; }
  bool stopped() const { return stopping_; }

  struct Progress {
    uint64_t stores = 0;  // found so far
    uint64_t chunks = 0;
    uint64_t damaged = 0;
    uint64_t bytes = 0;
    // Work done and known of, in the same unit; all of it once `all_found`.
    double done = 0;
    double total = 0;
    bool all_found = false;
  };
  Progress progress() const EXCLUDES(mutex_);

 private:
  struct Store;
  using StorePtr = std::shared_ptr<Store>;
  // One array, from the part that is next.
  struct Array {
    StorePtr store;
    std::string path;
    std::shared_ptr<const backends::ArraySource> source;
    std::shared_ptr<const cache::ArrayCheck> check;
    uint64_t next = 0;
    // The parts to read, if these are not all: a listing tells that the others are absent.
    std::shared_ptr<const std::vector<uint64_t>> stored = nullptr;

    uint64_t part_count() const { return stored ? stored->size() : check->part_count(); }
    uint64_t PartAt(uint64_t i) const { return stored ? (*stored)[i] : i; }
  };
  struct Batch {
    Array array;
    uint64_t count = 0;
  };

  bool WaitForTick() EXCLUDES(mutex_);
  bool Add(const FoundStore& found) EXCLUDES(mutex_);
  void TakeStock(const StorePtr& store, const FoundStore& found) EXCLUDES(mutex_);
  // Takes stock of all objects below `path`.
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

  void Work() EXCLUDES(mutex_);
  bool TakeBatch(Batch& batch) EXCLUDES(mutex_);
  void RunBatch(const Batch& batch) EXCLUDES(mutex_);
  // One of the tasks of a store is done.
  void Finish(const StorePtr& store, bool cut_short) EXCLUDES(mutex_);
  void ReportFinished() EXCLUDES(mutex_);
  void Report(StoreReport& report) const;

  const Options options_;
  const OnStore on_store_;
  std::atomic<bool> stopping_{false};
  cache::ChunkCache cache_;

  model::Mutex report_mutex_;  // taken before mutex_: keeps reports in order
  mutable model::Mutex mutex_;
  model::CondVar changed_;                          // queue, or the number of those at work
  std::deque<Array> queue_ GUARDED_BY(mutex_);      // arrays with parts left to do
  std::deque<StorePtr> stores_ GUARDED_BY(mutex_);  // not reported yet, in order
  Progress progress_ GUARDED_BY(mutex_);
  unsigned working_ GUARDED_BY(mutex_) = 0;  // threads, the one that walks included
};

}  // namespace ndlfs::fs
