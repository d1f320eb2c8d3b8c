// SPDX-License-Identifier: MIT
#include "cache/load_pace.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>
#include <utility>

namespace ndlfs::cache {
namespace {

using model::MutexLock;

// A fetch that takes less than this is not worth another thread.
constexpr int64_t kShortFetch = 200'000;  // nanoseconds

// One that has not ended after this is stuck for now.
constexpr int64_t kStuckFetch = 5 * kShortFetch;

// How many fetches are measured closely after one that was not short.
constexpr int kMeasured = 16;

// To decode less than this takes hardly longer than to wake a thread.
constexpr uint64_t kLittle = uint64_t{64} << 10;

thread_local int ahead_scopes = 0;

std::atomic<size_t> threads_seen{0};
thread_local const size_t thread_number = threads_seen++;

int64_t Now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// How often the calling thread has given its core away.
int64_t VoluntarySwitches() {
  rusage usage = {};
  return ::getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nvcsw : 0;
}

unsigned DecodersOf(const LoadPace::Limits& limits) {
  return limits.decoders != 0 ? limits.decoders
                              : std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace

LoadPace::LoadPace(const Limits& limits)
    : received_(limits.received),
      least_(DecodersOf(limits)),
      most_(std::max(least_, limits.fetches)),
      is_remote_(limits.is_remote),
      width_(limits.is_remote ? most_ : least_) {}

void LoadPace::NoteFetch(bool has_waited, int64_t nanoseconds) {
  MutexLock lock(mutex_);
  const bool decoders_wait = readers_.empty() && ahead_.empty();
  const unsigned width = width_;
  if (has_waited && decoders_wait) {
    width_ = std::min(width + 1, most_);
  } else if (!has_waited || nanoseconds <= WaitingTime()) {
    width_ = std::max(width - 1, LeastNow());
  }
}

int64_t LoadPace::WaitingTime() const {
  const auto waiting = static_cast<int64_t>(readers_.size() + ahead_.size());
  return waiting * mean_turn_ / least_;
}

unsigned LoadPace::UpdateWidth() {
  const unsigned least = LeastNow();
  if (least <= width()) return width();
  MutexLock lock(mutex_);
  width_ = std::max(width_.load(), least);
  return width_;
}

unsigned LoadPace::LeastNow() const {
  return std::min(most_, least_ + CountBefore(Now() - kStuckFetch));
}

unsigned LoadPace::CountFetches() const {
  return CountBefore(std::numeric_limits<int64_t>::max());
}

unsigned LoadPace::CountBefore(int64_t time) const {
  unsigned count = 0;
  for (const std::atomic<int64_t>& begun : begun_) {
    const int64_t start = begun.load(std::memory_order_relaxed);
    count += start != 0 && start < time ? 1 : 0;
  }
  return count;
}

LoadPace::AheadScope::AheadScope() { ++ahead_scopes; }
LoadPace::AheadScope::~AheadScope() { --ahead_scopes; }

LoadPace::Fetch::Fetch(LoadPace* pace) : pace_(pace) {
  if (pace_ == nullptr) return;
  start_ = Now();
  pace_->begun_[thread_number % pace_->begun_.size()].store(start_, std::memory_order_relaxed);
  if (pace_->to_measure_.load(std::memory_order_relaxed) > 0) switches_ = VoluntarySwitches();
}

void LoadPace::Fetch::End() {
  LoadPace* const pace = std::exchange(pace_, nullptr);
  if (pace == nullptr) return;
  pace->begun_[thread_number % pace->begun_.size()].store(0, std::memory_order_relaxed);
  const int64_t took = Now() - start_;
  const bool is_short = took < kShortFetch;
  if (is_short) {
    if (switches_) pace->to_measure_.fetch_sub(1, std::memory_order_relaxed);
    if (pace->is_slow()) pace->NoteFetch(false);
    return;
  }
  pace->to_measure_.store(kMeasured, std::memory_order_relaxed);
  if (switches_) pace->NoteFetch(VoluntarySwitches() > *switches_, took);
}

LoadPace::Decoding::Decoding(LoadPace* pace, uint64_t bytes)
    : pace_(pace != nullptr && pace->is_slow() && bytes >= kLittle ? pace : nullptr) {
  if (pace_ == nullptr) return;
  pace_->TakeTurn();
  start_ = Now();
}

LoadPace::Decoding::~Decoding() {
  if (pace_ != nullptr) pace_->EndTurn(Now() - start_);
}

void LoadPace::TakeTurn() {
  MutexLock lock(mutex_);
  if (decoding_ < least_) {
    ++decoding_;
    return;
  }
  Waiter waiter;
  (ahead_scopes == 0 ? readers_ : ahead_).push_back(&waiter);
  while (!waiter.has_turn) waiter.turn.Wait(mutex_);
}

void LoadPace::EndTurn(int64_t nanoseconds) {
  MutexLock lock(mutex_);
  mean_turn_ += (nanoseconds - mean_turn_) / 8;
  if (readers_.empty() && ahead_.empty()) {
    --decoding_;
    return;
  }
  reader_was_last_ = !readers_.empty() && (ahead_.empty() || !reader_was_last_);
  std::deque<Waiter*>& waiters = reader_was_last_ ? readers_ : ahead_;
  Waiter* const next = waiters.front();
  waiters.pop_front();
  // Under the lock, because `next` goes as soon as its thread has seen this.
  next->has_turn = true;
  next->turn.NotifyAll();
}

}  // namespace ndlfs::cache
