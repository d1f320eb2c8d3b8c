// SPDX-License-Identifier: MIT
//
// The memory of this process: --cache-size, 64 MiB, and 2 MiB a thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>

#include "model/error.h"

namespace ndlfs::model {

// The budget of the process. Blocks of the chunk cache may take all of --cache-size for as long
// as nobody else needs it: whoever takes memory charges it here, and what all charge beyond
// kCharged comes from the cache, which drops blocks for it. Thread-safe.
class MemoryBudget {
 public:
  // The parts of the 64 MiB.
  static constexpr uint64_t kBeside = uint64_t{64} << 20;
  static constexpr uint64_t kProgram = uint64_t{20} << 20;  // with its libraries
  // By which one chunk, with what its codecs take, may be larger than the cache.
  static constexpr uint64_t kLoad = uint64_t{8} << 20;
  static constexpr uint64_t kCharged = kBeside - kProgram - kLoad;

  // What is kept because it is likely to be used again.
  enum class Pool : uint8_t {
    kStores,     // opened ones
    kEntities,   // their groups and arrays as the mount shows them
    kNodes,      // the same as formats know them
    kDocuments,  // texts of `.ndl.yaml`
    kNdl,        // parsed NDL
    kListings,
    kWindows,  // computed elements
    kNames,    // that the kernel knows
    kPages,    // of files, from which formats read metadata
  };
  // The most bytes that a pool of a process with such a cache may keep.
  static constexpr uint64_t Share(Pool pool, uint64_t cache_bytes) {
    return AllShares(cache_bytes) / kParts * kPartOf[static_cast<size_t>(pool)];
  }
  static uint64_t Share(Pool pool);

  // The process has a chunk cache of `cache_bytes`, and shows no chunk of more than
  // `chunk_bytes`. Call it before anything is opened. Commands that end by themselves do not:
  // nothing is refused to them, and pools have their shares of 512 MiB.
  static void Begin(uint64_t cache_bytes, uint64_t chunk_bytes);

  // kLimit, with the bytes, if a chunk that takes so many while it is decoded cannot be held.
  static Result<void> CheckChunk(uint64_t bytes);
  // The most bytes for which CheckChunk() succeeds.
  static uint64_t MostForChunk();

  // Tells that somebody who took `from` bytes takes `to` bytes now. If that is more, call it
  // without a lock that the destructor of a block needs.
  static void Change(uint64_t from, uint64_t to);
  // What is to come from the cache.
  static uint64_t FromCache();

  // Memory for as long as one piece of work takes.
  class Held {
   public:
    explicit Held(uint64_t bytes = 0) : bytes_(bytes) { Change(0, bytes); }
    Held(Held&& other) noexcept : bytes_(std::exchange(other.bytes_, 0)) {}
    Held& operator=(Held&&) = delete;
    ~Held() { Change(bytes_, 0); }
    // ENOMEM if even an empty cache would not leave room for so many more.
    Result<void> Grow(uint64_t bytes);

   private:
    uint64_t bytes_ = 0;
  };

  // Calls `make_room`, which drops blocks, when FromCache() grows. One cache at a time.
  static void SetCache(const void* cache, std::function<void()> make_room);
  static void RemoveCache(const void* cache);

 private:
  static constexpr uint64_t kParts = 32;
  static constexpr std::array<uint64_t, 9> kPartOf = {3, 2, 2, 2, 1, 2, 8, 10, 2};
  static_assert(std::accumulate(kPartOf.begin(), kPartOf.end(), uint64_t{0}) == kParts);
  static constexpr uint64_t AllShares(uint64_t cache_bytes) {
    return (uint64_t{27} << 20) + cache_bytes / 8 * 3;
  }
};

}  // namespace ndlfs::model
