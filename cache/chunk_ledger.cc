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

// Files that are looked at together; the first of the differing ones ends the look.
constexpr size_t kBatch = 1024;
// Of more files than that, so many are looked at first: a program that writes an
// array again writes many of them.
constexpr size_t kSample = 64;

// What cannot be looked at counts as absent: when it can be again, that is a
// change.
std::optional<backends::ValueInfo> InfoOrAbsent(
    model::Result<std::optional<backends::ValueInfo>> info) {
  return info ? *std::move(info) : std::nullopt;
}

std::optional<backends::Generation> VersionOf(const std::optional<backends::ValueInfo>& info) {
  return info ? std::optional(info->generation) : std::nullopt;
}

}  // namespace

ChunkLedger::~ChunkLedger() { all_notes -= noted_.size(); }

model::Result<void> ChunkLedger::Note(const std::shared_ptr<const backends::Store>& store,
                                      const std::string& key) {
  const auto info = store->Stat(key);
  if (info) return NoteRead(store, key, *info);
  // Nobody can tell at this moment; that is no version to compare with later.
  if (has_changed()) return model::HasChanged(store->Describe(key));
  return {};
}

model::Result<void> ChunkLedger::NoteRead(const std::shared_ptr<const backends::Store>& store,
                                          const std::string& key, const Info& found) {
  if (!NoteVersion({store, key}, found)) return model::HasChanged(store->Describe(key));
  return {};
}

std::optional<backends::Generation> ChunkLedger::Noted(
    const std::shared_ptr<const backends::Store>& store, const std::string& key) const {
  model::MutexLock lock(mutex_);
  const auto known = noted_.find({store, key});
  return known == noted_.end() ? std::nullopt : known->second;
}

bool ChunkLedger::NoteVersion(const FileId& file, const Info& found) {
  model::MutexLock lock(mutex_);
  if (changed_) return false;
  if (const auto known = noted_.find(file); known != noted_.end()) {
    if (known->second == VersionOf(found)) return true;
    NoticeChange(found);
    return false;
  }
  if (noted_.size() >= kOwnNotes && all_notes >= kMostNotes) {
    ++unnoted_reads_;
    vouched_until_ = {};
    return true;
  }
  noted_.emplace(file, VersionOf(found));
  ++all_notes;
  return true;
}

void ChunkLedger::Vouch(std::chrono::nanoseconds holds) {
  model::MutexLock lock(mutex_);
  vouched_until_ = Clock::now() + holds;
}

uint64_t ChunkLedger::unnoted_reads() const {
  model::MutexLock lock(mutex_);
  return unnoted_reads_;
}

bool ChunkLedger::Changed() {
  const auto begin = Clock::now();
  Notes notes;
  {
    model::MutexLock lock(mutex_);
    if (changed_ || (unnoted_reads_ != 0 && begin >= vouched_until_)) return true;
    notes.assign(noted_.begin(), noted_.end());
  }
  const std::optional<Info> change = FindChange(notes);
  model::MutexLock lock(mutex_);
  if (change) NoticeChange(*change);
  // An open takes several looks, and each of 100,000 files takes about a second.
  if (!change && begin < vouched_until_) vouched_until_ += Clock::now() - begin;
  return change.has_value();
}

// What is there now in the place of a file that has changed; nullopt where none has.
std::optional<ChunkLedger::Info> ChunkLedger::FindChange(const Notes& notes) {
  if (notes.size() > kBatch) {
    for (size_t i = 0; i < notes.size(); i += notes.size() / kSample) {
      const auto& [file, then] = notes[i];
      Info now = InfoOrAbsent(file.first->Stat(file.second));
      if (VersionOf(now) != then) return now;
    }
  }
  std::vector<std::string_view> keys;
  for (size_t first = 0; first < notes.size(); first += keys.size()) {
    const backends::Store& store = *notes[first].first.first;
    keys.clear();
    for (size_t i = first; i < notes.size() && keys.size() < kBatch; ++i) {
      if (notes[i].first.first.get() != &store) break;
      keys.push_back(notes[i].first.second);
    }
    auto answers = store.StatMany(keys);
    for (size_t i = 0; i < keys.size(); ++i) {
      Info now = i < answers.size() ? InfoOrAbsent(std::move(answers[i])) : std::nullopt;
      if (VersionOf(now) != notes[first + i].second) return now;
    }
  }
  return std::nullopt;
}

void ChunkLedger::NoticeChange(const Info& now) {
  changed_ = true;
  if (now) changed_mtime_ns_ = std::max(changed_mtime_ns_, now->modified_ns);
}

bool ChunkLedger::has_notes() const {
  model::MutexLock lock(mutex_);
  return !noted_.empty() || unnoted_reads_ != 0;
}

bool ChunkLedger::has_changed() const {
  model::MutexLock lock(mutex_);
  return changed_;
}

int64_t ChunkLedger::changed_mtime_ns() const {
  model::MutexLock lock(mutex_);
  return unnoted_reads_ != 0 && !changed_ ? kNoTime : changed_mtime_ns_;
}

}  // namespace ndlfs::cache
