// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace ndlfs::cache {

// How often readers wanted chunks of an array, and how much work it was to get them.
// Thread-safe; the numbers are not ordered with each other.
struct LoadCounts {
  using Clock = std::chrono::steady_clock;

  std::atomic<uint64_t> decoded{0};        // chunks read and decoded
  std::atomic<uint64_t> decoded_parts{0};  // parts of chunks, without the rest of the chunk
  std::atomic<uint64_t> decoded_bytes{0};  // of both
  std::atomic<uint64_t> nanoseconds{0};    // that reading and decoding took
  std::atomic<uint64_t> failures{0};       // chunks that could not be read or decoded
  std::atomic<uint64_t> hits{0};           // chunks found in the cache, or being loaded
  std::atomic<uint64_t> direct_bytes{0};   // read from the file into the reply

  // Counts a load that began at `begin` and has made `bytes` bytes.
  void AddLoad(std::atomic<uint64_t>& kind, uint64_t bytes, Clock::time_point begin) {
    constexpr auto kRelaxed = std::memory_order_relaxed;
    const std::chrono::nanoseconds time = Clock::now() - begin;
    kind.fetch_add(1, kRelaxed);
    decoded_bytes.fetch_add(bytes, kRelaxed);
    nanoseconds.fetch_add(static_cast<uint64_t>(time.count()), kRelaxed);
  }
};

}  // namespace ndlfs::cache
