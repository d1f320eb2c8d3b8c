// SPDX-License-Identifier: MIT
//
// A request may end before its work does: its caller was killed, or it has waited for too long.
// Code that works for long checks between its steps, and stops when nobody needs the result any
// more.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "model/error.h"

namespace ndlfs::backends {

// Whether a request has ended. Thread-safe.
class Cancellation {
 public:
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

 private:
  std::atomic<bool> is_cancelled_{false};
  std::atomic<bool> is_abandoned_{false};
};
using CancellationPtr = std::shared_ptr<const Cancellation>;

// Sets the request for which the calling thread works. A thread that helps another one makes a
// scope with the Current() of that thread. An inner scope hides the outer one.
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

 private:
  CancellationPtr outer_;
};

}  // namespace ndlfs::backends
