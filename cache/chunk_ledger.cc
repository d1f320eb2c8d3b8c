// SPDX-License-Identifier: MIT
#include "cache/chunk_ledger.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <string_view>
#include <utility>
#include <vector>

namespace ndlfs::cache {
namespace {

// Versions that all ledgers of the process know; each may know a few anyhow.
constexpr size_t kMostNotes = size_t{1} << 17;
constexpr size_t kOwnNotes = 64;
std::atomic<size_t> all_notes{0};

// Of so many files the way to each is looked at.
constexpr size_t kFewFiles = 1024;

// A time of change that moves no file's modification time.
constexpr int64_t kNoTime = 1;

// What cannot be looked at counts as absent: when it can be again, that is a
// change.
std::optional<backends::ValueInfo> InfoNow(const backends::Store& store,
                                           const std::string& key) {
  auto stamp = store.Stat(key);
  return stamp ? *stamp : std::nullopt;
}

}  // namespace

ChunkLedger::~ChunkLedger() { all_notes -= noted_.size(); }

model::Result<void> ChunkLedger::Note(const std::shared_ptr<const backends::Store>& store,
                                      const std::string& key) {
  return NoteRead(store, key, InfoNow(*store, key));
}

model::Result<void> ChunkLedger::NoteRead(const std::shared_ptr<const backends::Store>& store,
                                          const std::string& key, const Stamp& stamp) {
  if (!NoteVersion({store, key}, stamp)) return model::HasChanged(store->Describe(key));
  if (!stamp) return {};  // closed to nobody
  auto access = CheckAccess(*store, key);
  if (!access) {
    model::MutexLock lock(mutex_);
    const FileId file = {store, key};
    if (noted_.contains(file)) closed_.insert(file);
  }
  return access;
}

model::Result<void> ChunkLedger::CheckAccess(const backends::Store& store,
                                             const std::string& key) const {
  if (!readers_) return {};
  NDLFS_TRY(const backends::Access access, store.AccessOf(key), store.Describe(key));
  if (!CoversReaders(*readers_, access)) {
    return model::IoError(
        EACCES, store.Describe(key) + ": closed to some of those who may read the metadata");
  }
  return {};
}

bool ChunkLedger::NoteVersion(const FileId& file, const Stamp& stamp) {
  model::MutexLock lock(mutex_);
  if (changed_) return false;
  if (const auto known = noted_.find(file); known != noted_.end()) {
    if (known->second == stamp) return true;
    NoticeChange(stamp);
    return false;
  }
  if (noted_.size() >= kOwnNotes && all_notes >= kMostNotes) {
    overflown_ = true;
    return true;
  }
  noted_.emplace(file, stamp);
  ++all_notes;
  return true;
}

bool ChunkLedger::Changed() {
  Noted noted;
  std::set<FileId> closed;
  {
    model::MutexLock lock(mutex_);
    if (changed_ || overflown_) return true;
    noted.assign(noted_.begin(), noted_.end());
    closed = closed_;
  }
  for (const auto& [file, then] : noted) {
    const Stamp now = InfoNow(*file.first, file.second);
    if (now == then) continue;
    model::MutexLock lock(mutex_);
    NoticeChange(now);
    return true;
  }
  if (!IsAccessChanged(noted, closed)) return false;
  model::MutexLock lock(mutex_);
  NoticeChange(std::nullopt);
  return true;
}

// A file that is closed changes, and so is noticed; a folder on the way to it
// is not.
bool ChunkLedger::IsAccessChanged(const Noted& noted, const std::set<FileId>& closed) const {
  if (!readers_) return false;
  const bool each = noted.size() <= kFewFiles;
  std::string_view folder;
  const backends::Store* store = nullptr;
  for (const auto& [file, stamp] : noted) {  // sorted
    if (!stamp) continue;
    const std::string_view key = file.second;
    const std::string_view here = key.substr(0, key.rfind('/') + 1);  // npos + 1 is 0
    if (!each && store == file.first.get() && folder == here) continue;
    store = file.first.get();
    folder = here;
    const bool is_closed = !CheckAccess(*file.first, file.second);
    if (is_closed != closed.contains(file)) return true;
  }
  return false;
}

void ChunkLedger::NoticeChange(const Stamp& now) {
  changed_ = true;
  if (now) changed_mtime_ns_ = std::max(changed_mtime_ns_, now->modified_ns);
}

bool ChunkLedger::has_changed() const {
  model::MutexLock lock(mutex_);
  return changed_;
}

int64_t ChunkLedger::changed_mtime_ns() const {
  model::MutexLock lock(mutex_);
  return overflown_ && !changed_ ? kNoTime : changed_mtime_ns_;
}

}  // namespace ndlfs::cache
