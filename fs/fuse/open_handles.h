// SPDX-License-Identifier: MIT
//
// Open files and directories. The kernel has handles to them between open and release.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "backends/store/caller.h"
#include "fs/fuse/inode_table.h"
#include "fs/fuse/passthrough.h"
#include "fs/serve/late_reads.h"
#include "fs/serve/open_limits.h"
#include "fs/tree/tree_node.h"
#include "model/mutex.h"

namespace ndlfs::fs {

// Keeps objects of a class that inherits std::enable_shared_from_this. The handle of an object
// is its address, so finding one takes no lock. The kernel uses a handle neither before it is
// opened nor after it is released. But a request that was refused may still use the object; it
// holds a pointer. Lets go of objects that were never released when the set is destroyed.
// Thread-safe.
template <typename T>
class HandleSet {
 public:
  uint64_t Add(std::shared_ptr<T> object) {
    const auto handle = reinterpret_cast<uintptr_t>(object.get());
    model::MutexLock lock(mutex_);
    objects_.emplace(handle, std::move(object));
    return handle;
  }
  // `handle` must come from Add(), and must not have been removed since.
  static std::shared_ptr<T> Get(uint64_t handle) {
    return reinterpret_cast<T*>(handle)->shared_from_this();
  }
  void Remove(uint64_t handle) {
    std::shared_ptr<T> removed;  // destroyed after the lock is given back
    model::MutexLock lock(mutex_);
    const auto it = objects_.find(handle);
    if (it == objects_.end()) return;
    removed = std::move(it->second);
    objects_.erase(it);
  }
  size_t size() const {
    model::MutexLock lock(mutex_);
    return objects_.size();
  }

 private:
  mutable model::Mutex mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<T>> objects_ GUARDED_BY(mutex_);
};

// One open().
struct OpenFile : std::enable_shared_from_this<OpenFile> {
  OpenFile(OpenedFile&& file, backends::CallerPtr by, OpenLimits::Place in,
           Passthrough::Way read_in)
      : place(std::move(in)),
        way(std::move(read_in)),
        handle(std::move(file.handle)),
        opener(std::move(by)) {}

  const OpenLimits::Place place;  // given back when the handle is gone
  const Passthrough::Way way;
  const std::shared_ptr<const FileHandle> handle;
  // The caller that opened the file. Every read through the handle is done as this caller.
  // Null if the mount is only for the user who mounts.
  const backends::CallerPtr opener;
  LateReads late;
};

// One opendir(): "." and "..", then the entries of a DirectoryReader. The
// offset of an entry is its ordinal. If the directory changes meanwhile, an
// entry may appear twice or not at all after a rewind, as POSIX allows.
class DirectoryHandle : public std::enable_shared_from_this<DirectoryHandle> {
 public:
  DirectoryHandle(InodeTable::Inode inode, std::unique_ptr<DirectoryReader> reader,
                  backends::CallerPtr opener = nullptr, OpenLimits::Place place = {})
      : place_(std::move(place)),
        inode_(std::move(inode)),
        opener_(std::move(opener)),
        reader_(std::move(reader)) {}

  const InodeTable::Inode& inode() const { return inode_; }
  // The same as OpenFile::opener.
  const backends::CallerPtr& opener() const { return opener_; }

  // Calls `take` with each entry from ordinal `offset` on, and with the offset
  // at which to continue after it. Stops when `take` returns false, which means
  // that it has not taken that entry. Returns an error only if no entry was
  // taken before it; otherwise the error comes again when the caller continues.
  template <typename Take>
  model::Result<void> Visit(uint64_t offset, const Take& take) EXCLUDES(mutex_) {
    model::MutexLock lock(mutex_);
    NDLFS_RETURN_IF_ERROR(Seek(offset));
    for (;;) {
      const auto entry = Peek();
      if (!entry && next_ == offset) return model::Propagate(entry.error());
      if (!entry || *entry == nullptr || !take(**entry, next_ + 1)) return {};
      Advance();
    }
  }

 private:
  static constexpr uint64_t kFirst = 2;  // behind "." and ".."

  // The entry with the ordinal `next_`, without moving on; null at the end.
  model::Result<const DirectoryEntry*> Peek() REQUIRES(mutex_);
  void Advance() REQUIRES(mutex_);
  model::Result<void> Seek(uint64_t offset) REQUIRES(mutex_);

  const OpenLimits::Place place_;  // given back when the reader is gone
  const InodeTable::Inode inode_;  // keeps the node of the directory alive
  const backends::CallerPtr opener_;
  model::Mutex mutex_;
  const std::unique_ptr<DirectoryReader> reader_;
  uint64_t next_ GUARDED_BY(mutex_) = 0;
  std::optional<DirectoryEntry> pending_ GUARDED_BY(mutex_);
};

}  // namespace ndlfs::fs
