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

  // Notes the version of `key`, which is about to be read. Fails with kStale
  // if the ledger is changed, or becomes so by this.
  model::Result<void> Note(const std::shared_ptr<const backends::Store>& store,
                           const std::string& key);

  // The same after a read, which has found `found` (nullopt: nothing).
  model::Result<void> NoteRead(const std::shared_ptr<const backends::Store>& store,
                               const std::string& key,
                               const std::optional<backends::ValueInfo>& found);

  // The version of `key` that was noted, for the next read of it to match. None if
  // nothing was noted, or that there is no value.
  std::optional<backends::Generation> Noted(const std::shared_ptr<const backends::Store>& store,
                                            const std::string& key) const;

  // Looks at the noted files again; true if one has changed, appeared or gone. Looks
  // at a few of many files first and stops at the first difference; else it takes one
  // stat() per file.
  bool Changed();

  // All files of the array have been read just now: the next Changed() does not
  // count the files that could not be noted. Whoever has found the size of a text by
  // decoding all of it can open it then, however many files that took.
  void Vouch();

  // How many reads could not be noted so far.
  uint64_t unnoted_reads() const;

  // Whether a change was noticed already; looks at no file.
  bool has_changed() const;

  // Modification time of what was found changed, nanoseconds; 0 if nothing was,
  // or it is gone.
  int64_t changed_mtime_ns() const;

 private:
  using Version = std::optional<backends::Generation>;
  using FileId = std::pair<std::shared_ptr<const backends::Store>, std::string>;
  // What Changed() looks at: all that was noted.
  using Notes = std::vector<std::pair<FileId, Version>>;
  using Info = std::optional<backends::ValueInfo>;
  static std::optional<Info> FindChange(const Notes& notes);
  void NoticeChange(const Info& now) REQUIRES(mutex_);
  bool NoteVersion(const FileId& file, const Info& found) EXCLUDES(mutex_);

  mutable model::Mutex mutex_;
  std::map<FileId, Version> noted_ GUARDED_BY(mutex_);
  bool changed_ GUARDED_BY(mutex_) = false;
  uint64_t unnoted_reads_ GUARDED_BY(mutex_) = 0;
  bool vouched_ GUARDED_BY(mutex_) = false;  // for those reads
  int64_t changed_mtime_ns_ GUARDED_BY(mutex_) = 0;
};

}  // namespace ndlfs::cache
