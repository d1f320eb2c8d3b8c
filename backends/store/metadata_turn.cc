// SPDX-License-Identifier: MIT
#include "backends/store/metadata_turn.h"

#include <chrono>
#include <list>
#include <map>

#include "backends/base/heap.h"
#include "backends/store/caller.h"
#include "backends/store/cancellation.h"
#include "model/memory_budget.h"
#include "model/mutex.h"

namespace ndlfs::backends {
namespace {

constexpr std::chrono::milliseconds kLookWhetherWanted{100};
// A turn of more leaves holes in the heap that are worth returning.
constexpr uint64_t kLeavesHoles = uint64_t{8} << 20;

thread_local bool has_metadata_turn = false;

constexpr bool IsHuge(uint64_t bytes) { return bytes > MetadataTurn::kMost / 2; }

// The users that have a turn, and those that wait for one.
class MetadataTurns {
 public:
  static MetadataTurns& Get() {
    static MetadataTurns turns;
    return turns;
  }

  model::Result<void> Wait(uint64_t user, uint64_t bytes) {
    const model::MutexLock lock(mutex_);
    const auto own = waiting_.insert(waiting_.end(), Waiting{user, bytes});
    GrantTurns();
    while (!own->is_granted) {
      granted_.WaitFor(mutex_, kLookWhetherWanted);
      if (own->is_granted) break;
      if (auto wanted = CancellationScope::Check(); !wanted) {
        waiting_.erase(own);
        GrantTurns();  // another one may have waited behind this
        return wanted;
      }
    }
    waiting_.erase(own);
    return {};
  }

  void End(uint64_t user, uint64_t bytes) {
    const model::MutexLock lock(mutex_);
    if (IsHuge(bytes)) {
      has_huge_ = false;
    } else {
      used_ -= bytes;
    }
    const auto found = turns_of_.find(user);
    if (found != turns_of_.end() && --found->second == 0) turns_of_.erase(found);
    GrantTurns();
  }

 private:
  struct Waiting {
    uint64_t user;
    uint64_t bytes;
    bool is_granted = false;
  };
  using Place = std::list<Waiting>::iterator;

  size_t TurnsOf(uint64_t user) const REQUIRES(mutex_) {
    const auto found = turns_of_.find(user);
    return found == turns_of_.end() ? 0 : found->second;
  }

  // The request to serve next among those that need one kind of turn. The user with the fewest
  // turns comes first; of two equal users, the one that did not get the last turn. Of several
  // requests of a user, the oldest. The end if nobody waits.
  Place FindNext(bool is_huge) REQUIRES(mutex_) {
    const auto rank = [&](const Waiting& waiting) REQUIRES(mutex_) {
      return 2 * TurnsOf(waiting.user) + (waiting.user == last_user_ ? 1 : 0);
    };
    auto best = waiting_.end();
    for (auto it = waiting_.begin(); it != waiting_.end(); ++it) {
      if (it->is_granted || IsHuge(it->bytes) != is_huge) continue;
      if (best == waiting_.end() || rank(*it) < rank(*best)) best = it;
    }
    return best;
  }

  // One that does not fit yet keeps others of its kind waiting, or it would wait for ever.
  void GrantTurns() REQUIRES(mutex_) {
    bool any = false;
    for (const bool is_huge : {false, true}) {
      for (;;) {
        const auto next = FindNext(is_huge);
        if (next == waiting_.end()) break;
        const bool fits = is_huge ? !has_huge_ : used_ + next->bytes <= MetadataTurn::kMost / 2;
        if (!fits) break;
        if (is_huge) {
          has_huge_ = true;
        } else {
          used_ += next->bytes;
        }
        ++turns_of_[next->user];
        last_user_ = next->user;
        next->is_granted = true;
        any = true;
      }
    }
    if (any) granted_.NotifyAll();
  }

  model::Mutex mutex_;
  model::CondVar granted_;
  std::list<Waiting> waiting_ GUARDED_BY(mutex_);
  std::map<uint64_t, size_t> turns_of_ GUARDED_BY(mutex_);  // that users have
  uint64_t last_user_ GUARDED_BY(mutex_) = 0;
  uint64_t used_ GUARDED_BY(mutex_) = 0;  // by turns that are not huge
  bool has_huge_ GUARDED_BY(mutex_) = false;
};

}  // namespace

model::Result<MetadataTurn> MetadataTurn::Take(uint64_t bytes) {
  if (bytes < kSmall || has_metadata_turn) return MetadataTurn(0, 0);
  const uint64_t user = CallerScope::CurrentId();
  NDLFS_RETURN_IF_ERROR(MetadataTurns::Get().Wait(user, bytes));
  has_metadata_turn = true;
  model::MemoryBudget::Change(0, bytes);
  return MetadataTurn(bytes, user);
}

bool MetadataTurn::IsHeld() { return has_metadata_turn; }

MetadataTurn::~MetadataTurn() {
  if (bytes_ == 0) return;
  has_metadata_turn = false;
  if (bytes_ > kLeavesHoles) GiveBackFreeMemory();
  model::MemoryBudget::Change(bytes_, 0);
  MetadataTurns::Get().End(user_, bytes_);
}

}  // namespace ndlfs::backends
