// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "backends/store/answer_age.h"
#include "backends/store/request_scope.h"
#include "model/bounded_map.h"
#include "model/mutex.h"
#include "model/string_hash.h"

namespace ndlfs::backends {

// How long answers of a source are trusted.
struct Trust {
  using Time = std::chrono::steady_clock::time_point;
  std::optional<std::chrono::nanoseconds> lifetime;  // nullopt: for ever
  std::function<Time()> clock = &std::chrono::steady_clock::now;

  bool keeps_answers() const { return !lifetime || *lifetime > lifetime->zero(); }
  // Whether an answer from the time `when` is still trusted, and the request of the calling
  // thread may use it (RequestScope::Takes()).
  bool Holds(Time when) const {
    const RequestScope* const scope = RequestScope::Current();
    if (scope != nullptr && !scope->Takes(when)) return false;
    return !lifetime || clock() - when < *lifetime;
  }
  // Tells whoever asks how old the answer is (AnswerAge), unless that does not matter.
  void NoteUse(Time when) const {
    if (lifetime) AnswerAge::Note(when);
  }
};

// Remembers the answers of a source to looks, by key, for later requests. (RequestScope
// remembers those of one request.) Forgets the least recently used answers if there are too
// many. Thread-safe.
template <typename T>
class Answers {
 public:
  struct Answer {
    T what;
    Trust::Time when;  // when the source was asked
  };

  // `capacity` is the largest sum of weights that it keeps.
  Answers(Trust trust, uint64_t capacity) : trust_(std::move(trust)), kept_(capacity) {}

  // nullopt if no answer is known, or if it is no longer trusted.
  std::optional<Answer> Find(std::string_view key) const EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    const Answer* const kept = kept_.Find(key);
    const bool holds =
        kept != nullptr && kept->when >= trusted_from_ && trust_.Holds(kept->when);
    if (!holds) return std::nullopt;
    trust_.NoteUse(kept->when);
    return *kept;
  }

  // Keeps the answer to a question that was asked at `when`. Does not replace the answer to a
  // later question.
  void Put(const std::string& key, T what, Trust::Time when, uint64_t weight = 1)
      EXCLUDES(mutex_) {
    if (!trust_.keeps_answers()) return;
    const model::MutexLock lock(mutex_);
    const Answer* const kept = kept_.Find(key);
    if (kept == nullptr || kept->when <= when) kept_.Put(key, {std::move(what), when}, weight);
  }

  // Trusts no answer to a question from before this call.
  void ForgetAll() EXCLUDES(mutex_) {
    const auto now = trust_.clock();
    const model::MutexLock lock(mutex_);
    // Another thread may have asked the clock later, and come here first.
    trusted_from_ = std::max(trusted_from_, now);
  }

  const Trust& trust() const { return trust_; }

 private:
  const Trust trust_;
  mutable model::Mutex mutex_;
  mutable model::BoundedMap<std::string, Answer, model::StringHash> kept_ GUARDED_BY(mutex_);
  Trust::Time trusted_from_ GUARDED_BY(mutex_) = Trust::Time::min();
};

}  // namespace ndlfs::backends
