// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/store/s3/bucket.h"
#include "backends/store/s3/look_memory.h"
#include "backends/store/source.h"
#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends::s3 {

// The keys below a prefix of a bucket, as a tree of paths; the part that a source and its
// stores share. Thread-safe.
class Tree {
 public:
  Tree(std::unique_ptr<Bucket> bucket, const Location& location,
       std::chrono::nanoseconds remember);

  const std::string& name() const { return name_; }  // "s3://bucket/prefix"
  const Bucket& bucket() const { return *bucket_; }
  LookMemory& memory() const { return memory_; }
  bool remembers() const { return remembers_; }
  std::string Describe(std::string_view path) const { return DescribeIn(name_, path); }

  // The key of the object at a path.
  std::string KeyOf(std::string_view path) const;
  // What all keys below the folder at a path begin with.
  std::string FolderKey(std::string_view path) const;

  // As Source::Stat(). Unless the answer is remembered, sends two requests at once.
  model::Result<std::optional<FileStatus>> Stat(const std::string& path) const;

  // What HEAD tells about the objects at these paths, all requests under way at once.
  // Remembered answers take none.
  std::vector<model::Result<std::optional<ValueInfo>>> StatObjects(
      std::span<const std::string> paths) const;

 private:
  // Of a path that is no object, in a bucket that may not be listed: whether a store is there.
  model::Result<Look> LookForStore(const std::string& path) const;
  model::Result<Look> Ask(const std::string& path) const;

  const std::unique_ptr<Bucket> bucket_;
  const std::string name_;
  const std::string prefix_;  // without '/' at the end
  const bool remembers_;
  mutable LookMemory memory_;
};

}  // namespace ndlfs::backends::s3
