// SPDX-License-Identifier: MIT
#include "backends/store/cancellation.h"

#include <cerrno>
#include <utility>

namespace ndlfs::backends {
namespace {

CancellationPtr& OfThread() {
  thread_local CancellationPtr current;
  return current;
}

}  // namespace

std::chrono::nanoseconds ProcessorTime(clockid_t thread) {
  timespec time = {};
  if (::clock_gettime(thread, &time) != 0) return {};
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// The time of an inner scope of the same request is that of the outer one.
CancellationScope::CancellationScope(CancellationPtr request)
    : outer_(std::exchange(OfThread(), std::move(request))) {
  const CancellationPtr& own = OfThread();
  if (own != nullptr && own != outer_ && own->is_charged()) {
    begin_ = ProcessorTime(CLOCK_THREAD_CPUTIME_ID);
  }
}

CancellationScope::~CancellationScope() {
  if (begin_.count() >= 0) Charge(ProcessorTime(CLOCK_THREAD_CPUTIME_ID) - begin_);
  OfThread() = std::move(outer_);
}

void CancellationScope::Charge(std::chrono::nanoseconds work) {
  const CancellationPtr& current = OfThread();
  if (current != nullptr) current->Charge(work);
}

const CancellationPtr& CancellationScope::Current() { return OfThread(); }

bool CancellationScope::IsCancelled() {
  const CancellationPtr& current = OfThread();
  return current != nullptr && current->is_cancelled();
}

static model::Failure NobodyWaits() {
  return model::IoError(ECANCELED, "nobody waits for it any more");
}

model::Result<void> CancellationScope::Check() {
  if (IsCancelled()) return NobodyWaits();
  return {};
}

model::Result<void> CancellationScope::CheckWithinChunk() {
  const CancellationPtr& current = OfThread();
  if (current != nullptr && current->is_abandoned()) return NobodyWaits();
  return {};
}

model::Result<OneAtATime::Turn> OneAtATime::Take(uint64_t user) {
  constexpr std::chrono::milliseconds kLookWhetherWanted{100};
  const model::MutexLock lock(mutex_);
  for (;;) {
    NDLFS_RETURN_IF_ERROR(CancellationScope::Check());
    if (users_.insert(user).second) return Turn(this, End{user});
    ended_.WaitFor(mutex_, kLookWhetherWanted);
  }
}

void OneAtATime::Finish(uint64_t user) {
  const model::MutexLock lock(mutex_);
  users_.erase(user);
  ended_.NotifyAll();
}

}  // namespace ndlfs::backends
