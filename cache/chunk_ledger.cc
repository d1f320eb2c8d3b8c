// SPDX-License-Identifier: MIT
#include "cache/chunk_ledger.h"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

namespace ndlfs::cache {
namespace {

// What cannot be looked at counts as absent: when it can be again, that is a
// change.
std::optional<backends::FileStamp> StampNow(const backends::Store& store,
                                            const std::string& key) {
  auto stamp = store.Stat(key);
  return stamp ? *stamp : std::nullopt;
}

}  // namespace

model::Result<void> ChunkLedger::Note(const std::shared_ptr<const backends::Store>& store,
                                      const std::string& key) {
  const Stamp stamp = StampNow(*store, key);
  if (!NoteVersion({store, key}, stamp)) return model::IoError(ESTALE, store->Describe(key));
  if (!stamp) return {};  // closed to nobody
  return CheckAccess(*store, key);
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
  const auto [it, inserted] = noted_.try_emplace(file, stamp);
  if (inserted || it->second == stamp) return true;
  NoticeChange(stamp);
  return false;
}

bool ChunkLedger::Changed() {
  std::vector<std::pair<FileId, Stamp>> noted;
  {
    model::MutexLock lock(mutex_);
    if (changed_) return true;
    noted.assign(noted_.begin(), noted_.end());
  }
  for (const auto& [file, then] : noted) {
    const Stamp now = StampNow(*file.first, file.second);
    if (now == then) continue;
    model::MutexLock lock(mutex_);
    NoticeChange(now);
    return true;
  }
  return false;
}

void ChunkLedger::NoticeChange(const Stamp& now) {
  changed_ = true;
  if (now) changed_mtime_ns_ = std::max(changed_mtime_ns_, now->mtime_ns);
}

bool ChunkLedger::has_changed() const {
  model::MutexLock lock(mutex_);
  return changed_;
}

int64_t ChunkLedger::changed_mtime_ns() const {
  model::MutexLock lock(mutex_);
  return changed_mtime_ns_;
}

}  // namespace ndlfs::cache
