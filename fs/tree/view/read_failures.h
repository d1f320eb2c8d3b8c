// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/chunk_ledger.h"
#include "model/bounded_map.h"
#include "model/mutex.h"

namespace ndlfs::fs {

// The failures of reads of a group or an array, one line each, without
// repetition. Keeps only as many lines as a person looks through. Thread-safe.
class ReadFailures {
 public:
  void Add(std::string_view line) EXCLUDES(mutex_) {
    std::string kept(line.substr(0, kLongestLine));
    const model::MutexLock lock(mutex_);
    if (is_full_) return;
    if (std::find(lines_.begin(), lines_.end(), kept) != lines_.end()) return;
    bytes_ += kept.size();
    if (lines_.size() == kMostLines || bytes_ > kMostBytes) {
      kept = "more has failed since";
      is_full_ = true;
    }
    lines_.push_back(std::move(kept));
  }

  // Empty if nothing has failed.
  std::string Text() const EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    std::string text;
    for (const std::string& line : lines_) (text += line) += '\n';
    return text;
  }

 private:
  static constexpr size_t kMostLines = 100;
  static constexpr size_t kLongestLine = 4096;
  static constexpr size_t kMostBytes = size_t{16} << 10;  // of all lines
  mutable model::Mutex mutex_;
  std::vector<std::string> lines_ GUARDED_BY(mutex_);
  size_t bytes_ GUARDED_BY(mutex_) = 0;
  bool is_full_ GUARDED_BY(mutex_) = false;
};

// The failures of arrays that were read lately, so that `error.txt` stays when an array leaves
// memory. They hold until the metadata change, or one of the files that were read. For up to
// 256 arrays. Thread-safe.
class KeptFailures {
 public:
  struct Array {
    uint64_t version = 0;  // of its metadata
    std::shared_ptr<ReadFailures> failures;
    std::shared_ptr<cache::ChunkLedger> ledger;  // the files that were read
  };

  // `name` identifies the array in the mount. Nullopt if no failures are kept, or if they no
  // longer hold. Looks at the files that were read.
  std::optional<Array> Find(const std::string& name, uint64_t version) EXCLUDES(mutex_) {
    Array array;
    {
      const model::MutexLock lock(mutex_);
      const Array* kept = arrays_.Find(name);
      if (kept == nullptr) return std::nullopt;
      array = *kept;
    }
    if (array.version == version && !array.ledger->Changed()) return array;
    const model::MutexLock lock(mutex_);
    const Array* kept = arrays_.Find(name);
    if (kept != nullptr && kept->failures == array.failures) arrays_.Erase(name);
    return std::nullopt;
  }

  void Keep(const std::string& name, Array array) EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    arrays_.Put(name, std::move(array));
  }

 private:
  static constexpr uint64_t kMost = 256;
  model::Mutex mutex_;
  model::BoundedMap<std::string, Array> arrays_ GUARDED_BY(mutex_){kMost};
};

// The failures of one entity, and where they stay when it leaves memory.
struct NotedFailures {
  std::shared_ptr<ReadFailures> failures = std::make_shared<ReadFailures>();
  KeptFailures* kept = nullptr;  // null: they do not stay
  std::string name = {};         // in `kept`
};

}  // namespace ndlfs::fs
