// SPDX-License-Identifier: MIT
#include "fs/mount/read_turns.h"

#include <exception>
#include <utility>

namespace ndlfs::fs {

void ReadTurns::Finish() {
  Threads threads;
  {
    const model::MutexLock lock(mutex_);
    threads.splice(threads.end(), helpers_);
    threads.splice(threads.end(), finished_);
    is_finished_ = true;
  }
  for (std::thread& thread : threads) thread.join();
}

void ReadTurns::Run(uid_t user, Read read) {
  std::list<Read> one;
  one.push_back(std::move(read));
  if (Waits(user, one)) return;
  for (std::optional<Read> next = std::move(one.front()); next; next = Next()) (*next)();
}

bool ReadTurns::Waits(uid_t user, std::list<Read>& read) {
  Threads finished;
  {
    const model::MutexLock lock(mutex_);
    if (running_ < at_once_) {
      ++running_;
      return false;
    }
    std::list<Read>& theirs = waiting_[user];
    theirs.splice(theirs.end(), read);
    if (!is_finished_ && most_ && running_ < most_()) StartHelper();
    finished.swap(finished_);
  }
  for (std::thread& thread : finished) thread.join();  // it does not wait for anything any more
  return true;
}

// Without another thread, those that run now take the read later.
void ReadTurns::StartHelper() {
  const auto self = helpers_.emplace(helpers_.end());
  try {
    *self = std::thread([this, self] {
      while (std::optional<Read> next = Next()) (*next)();
      const model::MutexLock lock(mutex_);
      if (!is_finished_) finished_.splice(finished_.end(), helpers_, self);
    });
    ++running_;
  } catch (const std::exception&) {
    helpers_.erase(self);
  }
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
