// SPDX-License-Identifier: MIT
//
// Finds the paths of objects by their addresses in a file: references and second hard links
// have addresses only.
#pragma once

#include <atomic>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/format/hdf5/metadata.h"
#include "model/mutex.h"

namespace ndlfs::backends::hdf5 {

// Knows one file. The first question that cannot be answered from one group walks the whole
// file; the result is kept. Thread-safe.
class ObjectIndex {
 public:
  // The shortest path to the object; the first one by name if there are several. nullopt if no
  // path leads there, or the file has more objects than are kept.
  std::optional<std::string> PathOf(const Metadata& file, uint64_t address) EXCLUDES(mutex_);

  // The same, but first looks in the group at `group_path` and in those around it, where
  // dimension scales are. Not for objects with several links.
  std::optional<std::string> PathNear(const Metadata& file, uint64_t address,
                                      const std::string& group_path) EXCLUDES(mutex_);

  void Clear() EXCLUDES(mutex_);
  // Does not wait for a walk.
  uint64_t held_bytes() const { return objects_bytes_ + tables_bytes_; }

 private:
  static constexpr size_t kMaxObjects = 500'000;
  static constexpr size_t kMaxNameBytes = size_t{32} << 20;
  static constexpr size_t kKeptGroups = 8;
  static constexpr size_t kMaxTableBytes = size_t{8} << 20;

  struct Entry {
    size_t parent;
    std::string name;
  };
  struct GroupTable {
    std::string path;
    std::unordered_map<uint64_t, std::string> names;
    size_t bytes = 0;
  };
  static constexpr size_t kBytesOfNode = 48;  // of by_address_

  void Walk(const Metadata& file) REQUIRES(mutex_);
  void Forget() REQUIRES(mutex_);
  std::string PathOfObject(size_t object) const REQUIRES(mutex_);
  const GroupTable* TableOf(const Metadata& file, const std::string& group_path)
      REQUIRES(mutex_);

  model::Mutex mutex_;
  bool walked_ GUARDED_BY(mutex_) = false;
  std::vector<Entry> objects_ GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, size_t> by_address_ GUARDED_BY(mutex_);
  std::list<GroupTable> tables_ GUARDED_BY(mutex_);  // the last used first
  std::atomic<uint64_t> objects_bytes_{0};
  std::atomic<uint64_t> tables_bytes_{0};
};

// The object that hard links lead to by `path`, name by name from the root. Appends the
// addresses of the groups on the way to `ancestors`, if given.
model::Result<std::shared_ptr<const ObjectHeader>> HeaderAt(
    const Metadata& file, std::string_view path, std::vector<uint64_t>* ancestors = nullptr);

}  // namespace ndlfs::backends::hdf5
