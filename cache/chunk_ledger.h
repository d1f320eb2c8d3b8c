// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "backends/store/store.h"
#include "cache/thread_annotations.h"

namespace ndlfs::cache {

// Which version of each file an array's data have been read from so far (a
// file that was absent counts), so that a change of any of them is noticed
// before the next program opens a view of the array. Thread-safe.
class ChunkLedger {
 public:
  // Notes the version of `key` that is about to be read. False if another
  // version was noted before: what is cached and what would be read now do
  // not belong together.
  bool Note(const std::shared_ptr<const backends::Store>& store, const std::string& key);

  // Looks at every noted file again; true if one has changed, appeared or
  // gone. Takes one stat() per file.
  bool Changed() const;

  // Newest modification among the noted files, nanoseconds; 0 if none.
  int64_t newest_mtime_ns() const;

 private:
  using Stamp = std::optional<backends::FileStamp>;
  struct Noted {
    std::shared_ptr<const backends::Store> store;
    Stamp stamp;
  };
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Noted> noted_ GUARDED_BY(mutex_);
};

}  // namespace ndlfs::cache
