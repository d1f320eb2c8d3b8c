// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "backends/store/object/environment.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::backends::object {

// A secret that expires: keys of a session, a token. `Secret` has a member `expires_s`, in
// seconds since 1970 (0: never), and can be compared. Thread-safe.
//
// Renewed gets a new secret five minutes before the end of the old one. If a secret lives for
// less than fifty minutes, it does so when a tenth of that time is left. If this fails, it uses
// the old secret to its end.
template <typename Secret>
class Renewed {
 public:
  using Load = std::function<model::Result<Secret>()>;

  // `load` gets a new secret, and may send requests. One thread calls it at a time.
  Renewed(Load load, GetTime now_s) : load_(std::move(load)), now_s_(std::move(now_s)) {}

  // The secret to use now. After an error, the same error is the answer for some seconds.
  model::Result<Secret> Current() EXCLUDES(mutex_) {
    // The lock is held during the search: all other threads need its result, too.
    const model::MutexLock lock(mutex_);
    const int64_t now = now_s_();
    if (current_ && (current_->expires_s == 0 || now < renew_at_s_)) return *current_;
    const bool is_usable = current_ && now < current_->expires_s;
    if (error_ && now < error_until_s_) {
      if (is_usable) return *current_;
      return model::Propagate(*error_);
    }
    auto found = load_();
    if (found) {
      Keep(*found);
      return found;
    }
    error_ = found.error();
    error_until_s_ = now_s_() + kKeepError_s;
    if (is_usable) return *current_;
    return found;
  }

  // Tells that a server has refused `refused` as expired or unknown: the next call of Current()
  // looks for others. Returns whether trying again makes sense, because Current() may have
  // others.
  bool Refuse(const Secret& refused) EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    if (!current_ || *current_ != refused) return true;  // there are others already
    auto found = load_();
    if (!found || *found == refused) return false;
    Keep(*found);
    return true;
  }

 private:
  static constexpr int64_t kMostBefore_s = 300;
  static constexpr int64_t kKeepError_s = 5;

  void Keep(const Secret& found) REQUIRES(mutex_) {
    error_.reset();
    const int64_t life_s = std::max<int64_t>(found.expires_s - now_s_(), 0);
    renew_at_s_ = found.expires_s - std::min(kMostBefore_s, life_s / 10);
    current_ = found;
  }

  const Load load_;
  const GetTime now_s_;
  model::Mutex mutex_;
  std::optional<Secret> current_ GUARDED_BY(mutex_);
  int64_t renew_at_s_ GUARDED_BY(mutex_) = 0;
  std::optional<model::Error> error_ GUARDED_BY(mutex_);
  int64_t error_until_s_ GUARDED_BY(mutex_) = 0;
};

}  // namespace ndlfs::backends::object
