// SPDX-License-Identifier: MIT
#include "fs/tree/store/large_document_turn.h"

#include <chrono>
#include <set>

#include "backends/store/caller.h"
#include "backends/store/cancellation.h"
#include "model/mutex.h"

namespace ndlfs::fs {
namespace {

struct LargeDocumentTurns {
  model::Mutex mutex;
  model::CondVar ended;
  std::set<uint64_t> users GUARDED_BY(mutex);  // that have a turn

  static LargeDocumentTurns& Get() {
    static LargeDocumentTurns turns;
    return turns;
  }
};

}  // namespace

model::Result<LargeDocumentTurn> LargeDocumentTurn::Take() {
  constexpr std::chrono::milliseconds kLookWhetherCancelled{100};
  const uint64_t user = backends::CallerScope::CurrentId();
  LargeDocumentTurns& turns = LargeDocumentTurns::Get();
  const model::MutexLock lock(turns.mutex);
  while (!turns.users.insert(user).second) {
    turns.ended.WaitFor(turns.mutex, kLookWhetherCancelled);
    NDLFS_RETURN_IF_ERROR(backends::CancellationScope::Check());
  }
  return LargeDocumentTurn(user);
}

LargeDocumentTurn::~LargeDocumentTurn() {
  if (!user_) return;
  LargeDocumentTurns& turns = LargeDocumentTurns::Get();
  const model::MutexLock lock(turns.mutex);
  turns.users.erase(*user_);
  turns.ended.NotifyAll();
}

}  // namespace ndlfs::fs
