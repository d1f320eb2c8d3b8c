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

// Descriptors of files that are read piece by piece, so that a piece does not
// cost an open(). One for the whole process, of a fixed number of
// descriptors: the least recently used one is closed for the next.
// Who asks finds only what was opened for the same caller (caller.h). Thread-safe;
// files are opened and closed outside the lock.
class DescriptorCache {
 public:
  // An open regular file, with the inode that tells it from its successor.
  struct File {
    UniqueFd fd;
    struct ::stat status;   // when it was opened
    Generation generation;  // the same
  };
  // Open as long as anybody holds it, in the cache or not.
  using Handle = std::shared_ptr<const File>;

  explicit DescriptorCache(size_t capacity) : capacity_(capacity) {}
  static DescriptorCache& Global();

  // Null if it is not there. `owner` is a NewId().
  Handle Find(uint64_t owner, std::string_view key);
  void Keep(uint64_t owner, std::string_view key, Handle file);
  void Drop(uint64_t owner, std::string_view key);
  // Drops all that `owner` has, whoever it was opened for.
  void DropAll(uint64_t owner);
  // Closes everything that is not in use: for when descriptors ran out.
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

// Opens the regular file at `path`; null where there is none (or a directory).
// When descriptors run out, closes those of the cache and tries again.
// `may_be_link` as for MakeFileStore().
model::Result<DescriptorCache::Handle> OpenFile(const SourceRoot& root, std::string_view path,
                                                bool may_be_link = true);

// Whether a file has the same bytes. The time of the last status change is left
// out: it is another one when the name has been removed, too, and the bytes are as
// they were.
bool IsSameVersion(const struct ::stat& a, const struct ::stat& b);

// Reads as Store::Read() does. nullopt if `file` is no longer the version that was
// opened. `just_opened` tells of a file that was opened for this read: one of no bytes
// takes no second look at the file.
model::Result<std::optional<ReadResult>> ReadOpened(const DescriptorCache::File& file,
                                                    bool just_opened,
                                                    const ReadOptions& options,
                                                    const Reserve& reserve);

}  // namespace ndlfs::backends
