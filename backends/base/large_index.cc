// SPDX-License-Identifier: MIT
#include "backends/base/large_index.h"

#include "backends/base/heap.h"
#include "model/mutex.h"

namespace ndlfs::backends {
namespace {

constexpr uint64_t kLarge = uint64_t{1} << 20;

thread_local bool has_turn = false;

struct Turns {
  model::Mutex mutex;
  model::CondVar given_back;
  bool taken GUARDED_BY(mutex) = false;
};

Turns& AllTurns() {
  static Turns turns;
  return turns;
}

}  // namespace

LargeIndexTurn::LargeIndexTurn(uint64_t bytes) : waits_(bytes > kLarge && !has_turn) {
  if (!waits_) return;
  Turns& turns = AllTurns();
  const model::MutexLock lock(turns.mutex);
  while (turns.taken) turns.given_back.Wait(turns.mutex);
  turns.taken = true;
  has_turn = true;
}

LargeIndexTurn::~LargeIndexTurn() {
  if (!waits_) return;
  has_turn = false;
  GiveBackFreeMemory();
  Turns& turns = AllTurns();
  const model::MutexLock lock(turns.mutex);
  turns.taken = false;
  turns.given_back.NotifyAll();
}

}  // namespace ndlfs::backends
