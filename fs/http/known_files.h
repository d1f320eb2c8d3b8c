// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fs/http/parse/conditions.h"
#include "fs/tree/tree_node.h"
#include "model/mutex.h"

namespace ndlfs::fs {

// A file as it was found.
struct FoundFile {
  std::shared_ptr<const FileHandle> handle;
  Validators validators;
  FileSize size;
  bool is_page = false;  // as in HttpReply
};

// The files that were opened last. Clients ask for one file many times a second, range by
// range, and each look at the source takes longer than to send a small range. A file is known
// as long as the look at the source that it relies on is trusted, so a change is seen no later
// than without this memory. Thread-safe.
class KnownFiles {
 public:
  using Clock = std::chrono::steady_clock;

  // `trusted`: how long a look at the source is trusted. Nothing is kept if this is zero.
  explicit KnownFiles(Clock::duration trusted) : trusted_(trusted) {}

  // The file at the path; null if it is not known now.
  std::shared_ptr<const FoundFile> Find(const std::vector<std::string>& path) EXCLUDES(mutex_);
  // `looked_at` as OpenedFile has it.
  void Keep(const std::vector<std::string>& path, FoundFile file, Clock::time_point looked_at)
      EXCLUDES(mutex_);
  void Forget(const std::vector<std::string>& path) EXCLUDES(mutex_);
  // Closes the files that are not known any more. Returns when to call it again; nullopt: not
  // before the next Keep().
  std::optional<Clock::duration> DropOld(Clock::time_point now) EXCLUDES(mutex_);

 private:
  struct Entry {
    std::shared_ptr<const FoundFile> file;
    Clock::time_point until;
  };
  using Entries = std::map<std::vector<std::string>, Entry>;

  const Clock::duration trusted_;
  model::Mutex mutex_;
  Entries entries_ GUARDED_BY(mutex_);
};

}  // namespace ndlfs::fs
