// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include "backends/store/caller.h"
#include "backends/store/cancellation.h"

namespace ndlfs::test {

// Calls `take()`, which waits for a turn, on a thread of its own and as `caller`; keeps what it
// returned until it is told to end.
class TurnTaker {
 public:
  template <typename Take>
  explicit TurnTaker(Take take, backends::CallerPtr caller = nullptr)
      : thread_([this, take, caller = std::move(caller)] {
          const backends::CallerScope scope(caller);
          const backends::CancellationScope request(request_);
          const auto turn = take();
          state_ = turn ? State::kHasTurn : State::kGaveUp;
          while (!ended_) std::this_thread::yield();
        }) {}
  ~TurnTaker() {
    request_->Cancel();
    End();
  }
  void End() {
    ended_ = true;
    if (thread_.joinable()) thread_.join();
  }
  void Cancel() { request_->Cancel(); }

  bool has_turn() const { return state_ == State::kHasTurn; }
  void WaitForTurn() const {
    while (state_ != State::kHasTurn) std::this_thread::yield();
  }
  void WaitForEnd() const {
    while (state_ != State::kGaveUp) std::this_thread::yield();
  }

 private:
  enum class State { kWaits, kHasTurn, kGaveUp };
  std::atomic<State> state_{State::kWaits};
  std::atomic<bool> ended_{false};
  const std::shared_ptr<backends::Cancellation> request_ =
      std::make_shared<backends::Cancellation>();
  std::thread thread_;
};

}  // namespace ndlfs::test
