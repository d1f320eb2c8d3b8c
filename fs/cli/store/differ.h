// SPDX-License-Identifier: MIT
//
// Compares all objects of two stores, on several threads, for `ndlfs diff`.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cache/chunk_cache.h"
#include "fs/cli/store/part_queue.h"
#include "fs/cli/store/store_argument.h"
#include "fs/compare/array_difference.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::fs {

// The differences of one object, or what kept it from being compared.
struct ObjectDifferences {
  struct Line {
    std::string label;  // "type", "values" ...; empty: goes on from the line before
    std::string text;
  };
  std::string path;  // of the object in the first store
  std::vector<Line> lines = {};
  std::vector<std::string> problems = {};
};

// For one run. Thread-safe, except for Run().
class Differ {
 public:
  struct Options {
    unsigned threads = 0;  // 0: one a core
    Tolerance tolerance = {};
    bool compares_attributes = true;
    bool stops_at_first = false;
  };
  // Gets each object with differences or problems, in the order of the tree, on one thread at a
  // time.
  using OnObject = std::function<void(const ObjectDifferences&)>;

  // `cache` must outlive the object.
  Differ(cache::ChunkCache& cache, const Options& options, OnObject on_object);
  ~Differ();

  // Compares `a.object` and `b.object` with all that is below them; calls `tick` ten times a
  // second meanwhile.
  void Run(const OpenedStore& a, const OpenedStore& b, const std::function<void()>& tick);

  PartQueue& queue() { return queue_; }
  struct Progress {
    uint64_t objects = 0;  // compared so far, or begun
    uint64_t differing = 0;
    uint64_t with_problems = 0;
    uint64_t bytes = 0;
  };
  Progress progress() const EXCLUDES(mutex_);

 private:
  struct Object;
  struct Pair;
  class Array;
  using ObjectPtr = std::shared_ptr<Object>;

  void Compare(const Pair& pair, int depth);
  void CompareMembers(const Pair& pair, const ObjectPtr& object, int depth);
  void CompareMember(Pair& pair, int depth);
  void CompareAttributes(const Pair& pair, const ObjectPtr& object);
  void CompareArrays(const Pair& pair, const ObjectPtr& object);
  void AddLine(const ObjectPtr& object, std::string label, std::string text) EXCLUDES(mutex_);
  void AddProblem(const ObjectPtr& object, std::string text) EXCLUDES(mutex_);
  ObjectPtr Begin(const std::string& path) EXCLUDES(mutex_);
  // Called when nothing will be added to the object any more.
  void Finish(const ObjectPtr& object) EXCLUDES(mutex_);
  void ReportFinished(bool is_end) EXCLUDES(mutex_);
  void Count(uint64_t bytes) EXCLUDES(mutex_);

  cache::ChunkCache& cache_;
  const Options options_;
  const OnObject on_object_;
  PartQueue queue_;
  model::Mutex report_mutex_;  // taken before mutex_: keeps reports in order
  mutable model::Mutex mutex_;
  std::deque<ObjectPtr> objects_ GUARDED_BY(mutex_);  // not reported yet, in order
  Progress progress_ GUARDED_BY(mutex_);
};

}  // namespace ndlfs::fs
