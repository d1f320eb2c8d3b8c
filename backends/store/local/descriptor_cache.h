// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "backends/store/local/source_root.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::backends {

// Keeps descriptors of files that are read piece by piece, so that a piece does
// not cost an open(). The process has one cache, with a fixed number of
// descriptors; the least recently used one is closed to make room. A caller
// (caller.h) finds only descriptors that were opened for it. Thread-safe; files
// are opened and closed outside the lock.
class DescriptorCache {
 public:
  // An open regular file, with the status that tells it from a file that
  // replaces it.
  struct File {
    UniqueFd fd;
    struct ::stat status;   // when it was opened
    Generation generation;  // made from `status`
  };
  // Keeps the file open, whether it is still in the cache or not.
  using Handle = std::shared_ptr<const File>;

  explicit DescriptorCache(size_t capacity) : capacity_(capacity) {}
  static DescriptorCache& Global();

  // The file that was kept for the current caller; null if there is none. `owner` is a NewId().
  Handle Find(uint64_t owner, std::string_view key);
  // Keep() and Drop() act for the current caller.
  void Keep(uint64_t owner, std::string_view key, Handle file);
  void Drop(uint64_t owner, std::string_view key);
  // Drops all files of `owner`, for all callers.
  void DropAll(uint64_t owner);
  // Drops all files, which closes those that are not in use. For when the
  // system has no more descriptors.
  void Clear();

  size_t size() const;

 private:
  struct Key {
    uint64_t owner;
    uint64_t caller;
    std::string key;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      const uint64_t whose = key.owner * 0x9e3779b97f4a7c15u + key.caller;
      return std::hash<std::string>()(key.key) ^ (whose * 0xbf58476d1ce4e5b9u);
    }
  };
  struct Slot {
    Key key;
    Handle file;
  };

  const size_t capacity_;
  mutable model::Mutex mutex_;
  std::list<Slot> slots_ GUARDED_BY(mutex_);  // the most recently used one first
  std::unordered_map<Key, std::list<Slot>::iterator, KeyHash> index_ GUARDED_BY(mutex_);
};

// Opens the regular file at `path`; null if there is none, or a directory. If
// the system has no more descriptors, clears the cache and tries again.
// `may_be_link`: see MakeFileStore().
model::Result<DescriptorCache::Handle> OpenFile(const SourceRoot& root, std::string_view path,
                                                bool may_be_link = true);

// Whether `a` and `b` are of the same version of a file. A program may set the time of the last
// write back, but not that of the last status change: that one differs if the file was written.
// It may also differ if the file got another name, or lost one; then its bytes are the same.
bool IsSameVersion(const struct ::stat& a, const struct ::stat& b);

// Reads as Store::Read() does. nullopt if `file` is no longer the version that was
// opened. `just_opened`: the file was opened for this read. A read of no bytes then
// does not look at the file again.
model::Result<std::optional<ReadResult>> ReadOpened(const DescriptorCache::File& file,
                                                    bool just_opened,
                                                    const ReadOptions& options,
                                                    const Reserve& reserve);

}  // namespace ndlfs::backends
