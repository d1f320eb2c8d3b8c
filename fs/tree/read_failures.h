// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/mutex.h"

namespace ndlfs::fs {

// What went wrong when an array was read: each failure a line, and no more
// lines than a person looks through. Thread-safe.
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

}  // namespace ndlfs::fs
