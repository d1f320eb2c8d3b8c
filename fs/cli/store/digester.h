// SPDX-License-Identifier: MIT
//
// Computes the digests of all objects of a store, on several threads, for `ndlfs digest`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/format/hierarchy.h"
#include "cache/chunk_cache.h"
#include "fs/cli/store/part_queue.h"
#include "fs/compare/object_digest.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::fs {

// A digest of an object. If it could not be computed, its text is empty.
struct ObjectDigest {
  enum class Kind : uint8_t { kElements, kGroup, kAttributes };
  Kind kind = Kind::kElements;
  std::string path;    // NDL path name of the object
  std::string digest;  // 64 hexadecimal digits

  // The name in a manifest: the path or, for attributes, "/t2m//attributes".
  std::string Name() const;
};

// For one run. Thread-safe, except for Run().
class Digester {
 public:
  // `cache` must outlive the object. 0 threads: one a core.
  Digester(cache::ChunkCache& cache, unsigned threads);
  ~Digester();

  // The digests of the object at `path` and of all objects below it, in the order of the tree.
  // Calls `tick` ten times a second meanwhile. An error if there is no such object.
  model::Result<std::vector<ObjectDigest>> Run(const backends::Hierarchy& hierarchy,
                                               const std::string& path,
                                               const std::function<void()>& tick)
      EXCLUDES(mutex_);
  // Why digests are missing, after Run(): "/t2m: chunk 0.0: ...".
  std::vector<model::Error> problems() const EXCLUDES(mutex_);

  PartQueue& queue() { return queue_; }
  struct Progress {
    uint64_t arrays = 0;  // found so far
    uint64_t failed = 0;
    uint64_t bytes = 0;
  };
  Progress progress() const EXCLUDES(mutex_);

 private:
  struct Object;
  class Array;

  // Finds what is at `object.path` and below it.
  void Find(const backends::Hierarchy& hierarchy, Object& object, int depth);
  void FindMembers(const backends::Hierarchy& hierarchy, Object& object, int depth);
  void AddArray(Object& object, const backends::Node& node);
  void Fail(Object& object, const model::Error& error) EXCLUDES(mutex_);
  void Count(uint64_t bytes) EXCLUDES(mutex_);

  cache::ChunkCache& cache_;
  PartQueue queue_;
  mutable model::Mutex mutex_;
  Progress progress_ GUARDED_BY(mutex_);
  std::vector<model::Error> problems_ GUARDED_BY(mutex_);
};

}  // namespace ndlfs::fs
