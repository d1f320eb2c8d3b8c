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

CancellationScope::CancellationScope(CancellationPtr request)
    : outer_(std::exchange(OfThread(), std::move(request))) {}

CancellationScope::~CancellationScope() { OfThread() = std::move(outer_); }

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

}  // namespace ndlfs::backends
