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

// A time of change that moves no file's modification time.
constexpr int64_t kNoTime = 1;

// What cannot be looked at counts as absent: when it can be again, that is a
// change.
std::optional<backends::FileStamp> StampNow(const backends::Store& store,
                                            const std::string& key) {
  auto stamp = store.Stat(key);
  return stamp ? *stamp : std::nullopt;
}

}  // namespace

ChunkLedger::~ChunkLedger() { all_notes -= noted_.size(); }

model::Result<void> ChunkLedger::Note(const std::shared_ptr<const backends::Store>& store,
                                      const std::string& key) {
  return NoteRead(store, key, StampNow(*store, key));
}

model::Result<void> ChunkLedger::NoteRead(const std::shared_ptr<const backends::Store>& store,
                                          const std::string& key, const Stamp& stamp) {
  if (!NoteVersion({store, key}, stamp)) return model::IoError(ESTALE, store->Describe(key));
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
  {
    model::MutexLock lock(mutex_);
    if (changed_ || overflown_) return true;
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
  return overflown_ && !changed_ ? kNoTime : changed_mtime_ns_;
}

}  // namespace ndlfs::cache
