// SPDX-License-Identifier: MIT
#include "fs/http/known_files.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ndlfs::fs {
namespace {

using model::MutexLock;

// Each may hold a descriptor, and the memory of a view.
constexpr size_t kMostFiles = 64;
// Of a source that never changes, too: an open file keeps its store in memory.
constexpr auto kLongestKnown = std::chrono::seconds(5);

}  // namespace

std::shared_ptr<const FoundFile> KnownFiles::Find(const std::vector<std::string>& path) {
  const auto now = Clock::now();
  const MutexLock lock(mutex_);
  const auto found = entries_.find(path);
  if (found == entries_.end() || found->second.until <= now) return nullptr;
  return found->second.file;
}

void KnownFiles::Keep(const std::vector<std::string>& path, FoundFile file,
                      Clock::time_point looked_at) {
  const auto now = Clock::now();
  if (looked_at == Clock::time_point() || now - looked_at >= trusted_) return;
  const Entry entry = {std::make_shared<const FoundFile>(std::move(file)),
                       std::min(looked_at + trusted_, now + kLongestKnown)};
  const MutexLock lock(mutex_);
  if (entries_.size() >= kMostFiles && !entries_.contains(path)) return;
  entries_.insert_or_assign(path, entry);
}

void KnownFiles::Forget(const std::vector<std::string>& path) {
  const MutexLock lock(mutex_);
  entries_.erase(path);
}

std::optional<KnownFiles::Clock::duration> KnownFiles::DropOld(Clock::time_point now) {
  constexpr auto kAgain = std::chrono::seconds(1);
  Entries old;  // destroyed after the lock
  const MutexLock lock(mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (entry->second.until <= now) old.insert(entries_.extract(entry));
    entry = next;
  }
  if (entries_.empty()) return std::nullopt;
  return kAgain;
}

}  // namespace ndlfs::fs
