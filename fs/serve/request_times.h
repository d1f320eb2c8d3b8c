// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace ndlfs::fs {

// How many requests of one kind there were, and how long they took. Thread-safe; the counts are
// not ordered with anything else.
class RequestTimes {
 public:
  using Clock = std::chrono::steady_clock;

  // The longest time of each class, four times that of the class before. The last class has no
  // limit.
  static constexpr size_t kClasses = 13;
  static constexpr std::chrono::microseconds kFirst{10};
  static constexpr std::chrono::microseconds LongestOf(size_t time_class) {
    return kFirst * (int64_t{1} << (2 * time_class));
  }

  struct Snapshot {
    std::array<uint64_t, kClasses> counts = {};
    double seconds = 0;  // the sum of all

    uint64_t total() const {
      uint64_t sum = 0;
      for (const uint64_t count : counts) sum += count;
      return sum;
    }
  };

  // Counts a request that begins.
  void Begin() { begun_.fetch_add(1, std::memory_order_relaxed); }
  // Counts a request that began at `begin` and was answered at `end`.
  void End(Clock::time_point begin, Clock::time_point end) {
    const auto time = end - begin;
    size_t time_class = 0;
    while (time_class + 1 < kClasses && time > LongestOf(time_class)) ++time_class;
    counts_[time_class].fetch_add(1, std::memory_order_relaxed);
    const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
    nanoseconds_.fetch_add(static_cast<uint64_t>(nanoseconds), std::memory_order_relaxed);
  }

  // Requests that have begun.
  uint64_t begun() const { return begun_.load(std::memory_order_relaxed); }
  Snapshot answered() const {
    Snapshot out;
    for (size_t i = 0; i < kClasses; ++i) {
      out.counts[i] = counts_[i].load(std::memory_order_relaxed);
    }
    out.seconds = static_cast<double>(nanoseconds_.load(std::memory_order_relaxed)) / 1e9;
    return out;
  }

 private:
  std::atomic<uint64_t> begun_{0};
  std::array<std::atomic<uint64_t>, kClasses> counts_ = {};
  std::atomic<uint64_t> nanoseconds_{0};
};

}  // namespace ndlfs::fs
