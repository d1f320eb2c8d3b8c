// SPDX-License-Identifier: MIT
//
// A request may end before its work does: its caller was killed, or it has waited for too long.
// Code that works for long checks between its steps, and stops when nobody needs the result any
// more. What all threads do for a request is charged to it here, too.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <set>

#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::backends {

// The processor time of the thread with this clock; zero if the thread has ended.
std::chrono::nanoseconds ProcessorTime(clockid_t thread);

// Whether a request has ended, and what it has cost. Thread-safe.
class Cancellation {
 public:
  // `is_charged`: whether the processor time of its scopes is measured.
  explicit Cancellation(bool is_charged = false) : is_charged_(is_charged) {}

  // The work should stop soon. Cannot be revoked.
  void Cancel() { is_cancelled_.store(true, std::memory_order_relaxed); }
  bool is_cancelled() const { return is_cancelled_.load(std::memory_order_relaxed); }
  // The same, and nobody is going to try again: the work should stop even in the middle of a
  // chunk, although the decoded part is lost.
  void Abandon() {
    is_abandoned_.store(true, std::memory_order_relaxed);
    Cancel();
  }
  bool is_abandoned() const { return is_abandoned_.load(std::memory_order_relaxed); }

  bool is_charged() const { return is_charged_; }
  void Charge(std::chrono::nanoseconds work) const {
    charge_.fetch_add(work.count(), std::memory_order_relaxed);
  }
  // What was charged since the last call.
  std::chrono::nanoseconds TakeCharge() const {
    return std::chrono::nanoseconds(charge_.exchange(0, std::memory_order_relaxed));
  }

 private:
  const bool is_charged_;
  std::atomic<bool> is_cancelled_{false};
  std::atomic<bool> is_abandoned_{false};
  mutable std::atomic<std::chrono::nanoseconds::rep> charge_{0};
};
using CancellationPtr = std::shared_ptr<const Cancellation>;

// Sets the request for which the calling thread works, and charges the processor time of the
// thread to it. A thread that helps another one makes a scope with the Current() of that
// thread. An inner scope hides the outer one.
class CancellationScope {
 public:
  explicit CancellationScope(CancellationPtr request);  // null: nobody can end it
  ~CancellationScope();
  CancellationScope(const CancellationScope&) = delete;
  CancellationScope& operator=(const CancellationScope&) = delete;

  // Null outside of any scope.
  static const CancellationPtr& Current();
  // False outside of any scope.
  static bool IsCancelled();
  // kCancelled if the request of this thread has ended. That says nothing about the source:
  // code must not remember it for other requests.
  static model::Result<void> Check();
  // The same within a chunk, and only if the request was abandoned. Slow codecs call it once
  // for each kSliceBytes that they have decoded.
  static model::Result<void> CheckWithinChunk();
  static constexpr size_t kSliceBytes = size_t{4} << 20;

  // Charges the request for something that costs others more than processor time: the source
  // was asked, or a chunk takes memory in the cache.
  static void ChargeCall() { Charge(std::chrono::microseconds(50)); }
  static void ChargeChunk() { Charge(std::chrono::microseconds(50)); }

 private:
  static void Charge(std::chrono::nanoseconds work);

  CancellationPtr outer_;
  std::chrono::nanoseconds begin_{-1};  // of the time that is charged; -1: none is
};

// Turns for work of which one should go on at a time: in all or, if the work is told for whom
// it is done, for each user. Thread-safe.
class OneAtATime {
 public:
  struct End {
    uint64_t user = 0;
    void operator()(OneAtATime* turns) const { turns->Finish(user); }
  };
  using Turn = std::unique_ptr<OneAtATime, End>;

  // Waits until no other thread has the turn. Fails if the request of this thread has ended
  // (kCancelled).
  model::Result<Turn> Take(uint64_t user = 0) EXCLUDES(mutex_);

 private:
  void Finish(uint64_t user) EXCLUDES(mutex_);

  model::Mutex mutex_;
  model::CondVar ended_;
  std::set<uint64_t> users_ GUARDED_BY(mutex_);  // that have a turn
};

}  // namespace ndlfs::backends
