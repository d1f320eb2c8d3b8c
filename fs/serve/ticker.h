// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>

#include "model/mutex.h"

namespace ndlfs::fs {

// A thread that calls a function from time to time, and sleeps while there is no need.
class Ticker {
 public:
  using Clock = std::chrono::steady_clock;
  // Returns when it is to be called again; nullopt: when Wake() is called.
  using Tick = std::function<std::optional<Clock::duration>(Clock::time_point now)>;

  explicit Ticker(Tick tick) : tick_(std::move(tick)), thread_([this] { Run(); }) {}
  ~Ticker();
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  // Makes the thread call the function within this time. Costs next to nothing if it will
  // anyway.
  void Wake(Clock::duration within) EXCLUDES(mutex_);

 private:
  void Run() EXCLUDES(mutex_);

  const Tick tick_;
  // In nanoseconds of the clock. 0: the function runs, or is about to.
  std::atomic<int64_t> wakes_at_{0};
  model::Mutex mutex_;
  model::CondVar changed_;
  bool ended_ GUARDED_BY(mutex_) = false;
  std::thread thread_;  // the last member: uses the others
};

}  // namespace ndlfs::fs
