// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>

#include "model/mutex.h"

namespace ndlfs::fs {

// Slows down clients that guess tokens and keys: each has some guesses, and gets a new one each
// second. Thread-safe.
class GuessLimit {
 public:
  using Clock = std::chrono::steady_clock;

  // Whether `client` has no guess left.
  bool IsSpent(uid_t client, Clock::time_point now) EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    const auto found = paid_until_.find(client);
    if (found == paid_until_.end()) {
      if (paid_until_.size() < kMostClients) return false;
      if (now >= next_drop_) Drop(now);
      return paid_until_.size() >= kMostClients;
    }
    return found->second - now >= kGuesses * kEach;
  }
  void Note(uid_t client, Clock::time_point now) EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    auto& until = paid_until_[client];
    until = std::max(until, now) + kEach;
  }

 private:
  static constexpr int kGuesses = 60;
  static constexpr auto kEach = std::chrono::seconds(1);
  static constexpr size_t kMostClients = 16384;

  // Forgets clients that have all their guesses again; not more often than one can be added.
  void Drop(Clock::time_point now) REQUIRES(mutex_) {
    std::erase_if(paid_until_, [&](const auto& entry) { return entry.second <= now; });
    next_drop_ = now + kEach;
  }

  model::Mutex mutex_;
  // When the guesses of a client will all be paid for.
  std::map<uid_t, Clock::time_point> paid_until_ GUARDED_BY(mutex_);
  Clock::time_point next_drop_ GUARDED_BY(mutex_);
};

}  // namespace ndlfs::fs
