// SPDX-License-Identifier: MIT
#include "fs/mount/read_turns.h"

#include <utility>

namespace ndlfs::fs {

void ReadTurns::Run(uid_t user, Read read) {
  std::list<Read> one;
  one.push_back(std::move(read));
  {
    const model::MutexLock lock(mutex_);
    if (running_ >= at_once_) {
      std::list<Read>& theirs = waiting_[user];
      theirs.splice(theirs.end(), one);
      return;
    }
    ++running_;
  }
  for (std::optional<Read> next = std::move(one.front()); next; next = Next()) (*next)();
}

std::optional<ReadTurns::Read> ReadTurns::Next() {
  const model::MutexLock lock(mutex_);
  auto turn = waiting_.upper_bound(last_);
  if (turn == waiting_.end()) turn = waiting_.begin();
  if (turn == waiting_.end()) {
    --running_;
    return std::nullopt;
  }
  last_ = turn->first;
  Read read = std::move(turn->second.front());
  turn->second.pop_front();
  if (turn->second.empty()) waiting_.erase(turn);
  return read;
}

}  // namespace ndlfs::fs
