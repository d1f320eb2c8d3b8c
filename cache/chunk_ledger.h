// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/store/store.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::cache {

// Which version of each file one array's data have been read from so far (that
// a file was absent counts), so that a change of any of them is noticed before
// the next program opens a view of the array. Once something has changed, the
// ledger stays changed: what has been read and what would be read from now on
// do not belong together, and a new ledger (with a new ArraySource) has to
// begin. Thread-safe.
//
// Memory is bounded: all ledgers together know so many files. One that cannot
// know all that was read says that it has changed when it is asked: nobody can
// tell that it has not. Who reads goes on reading.
class ChunkLedger {
 public:
  ChunkLedger() = default;
  ~ChunkLedger();
  ChunkLedger(const ChunkLedger&) = delete;
  ChunkLedger& operator=(const ChunkLedger&) = delete;

  // Notes the version of `key`, which is about to be read. Fails with ESTALE
  // if the ledger is changed, or becomes so by this.
  model::Result<void> Note(const std::shared_ptr<const backends::Store>& store,
                           const std::string& key);

  // The same after a read, which has found `version` (nullopt: nothing).
  model::Result<void> NoteRead(const std::shared_ptr<const backends::Store>& store,
                               const std::string& key,
                               const std::optional<backends::FileStamp>& version);

  // Looks at every noted file again; true if one has changed, appeared or
  // gone. Takes one stat() per file.
  bool Changed();

  // Whether a change was noticed already; looks at no file.
  bool has_changed() const;

  // Modification time of what was found changed, nanoseconds; 0 if nothing was,
  // or it is gone.
  int64_t changed_mtime_ns() const;

 private:
  using Stamp = std::optional<backends::FileStamp>;
  using FileId = std::pair<std::shared_ptr<const backends::Store>, std::string>;
  // What Changed() looks at: all that was noted.
  using Noted = std::vector<std::pair<FileId, Stamp>>;
  void NoticeChange(const Stamp& now) REQUIRES(mutex_);
  bool NoteVersion(const FileId& file, const Stamp& stamp) EXCLUDES(mutex_);

  mutable model::Mutex mutex_;
  std::map<FileId, Stamp> noted_ GUARDED_BY(mutex_);
  bool changed_ GUARDED_BY(mutex_) = false;
  bool overflown_ GUARDED_BY(mutex_) = false;  // something was read that is not noted
  int64_t changed_mtime_ns_ GUARDED_BY(mutex_) = 0;
};

}  // namespace ndlfs::cache
