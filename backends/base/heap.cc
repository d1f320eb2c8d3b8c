// SPDX-License-Identifier: MIT
#include "backends/base/heap.h"

#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <thread>

extern "C" {

// A function of jemalloc; null if the program is not linked with it.
[[gnu::weak]] int mallctl(const char* name, void* old, size_t* old_size, void* value,
                          size_t size);

// jemalloc reads this when it starts, which is before main(). Pages that have become free are
// used for the next chunks, and given back a second later: the kernel clears new pages, which
// takes as long as decoding a chunk with a fast codec. Blocks of 24 MiB and more go back at
// once. They have an arena of their own, which keeps nothing. There is one arena a processor
// instead of four, because each keeps holes of its own. Addresses are given back, too: the
// helper of libeccodes has a limit for them.
extern const char* const malloc_conf;
const char* const malloc_conf =
    "oversize_threshold:25165824,dirty_decay_ms:1000,muzzy_decay_ms:0,retain:false,"
    "narenas_ratio:1";

}  // extern "C"

namespace ndlfs::backends {

void SetUpHeap() {
  if (&mallctl != nullptr) return;  // see malloc_conf
  // Chunks go back to the system when they leave the cache. Left to itself, malloc
  // would keep as much as once was used, per thread.
  ::mallopt(M_MMAP_THRESHOLD, 128 << 10);
  // malloc has eight arenas a core, and gives back no page of an arena in which a
  // block is still in use. One thread allocates a chunk and another evicts it, so
  // each arena keeps holes: with small chunks, twice the size of the cache.
  ::mallopt(M_ARENA_MAX,
            static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 2U, 64U)));
}

std::string AllocatorVersion() {
  if (&mallctl == nullptr) return {};
  // "5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c"
  const char* version = nullptr;
  size_t size = sizeof(version);
  if (mallctl("version", &version, &size, nullptr, 0) != 0) return {};
  const std::string_view text = version;
  return "jemalloc " + std::string(text.substr(0, text.find('-')));
}

void GiveBackFreeMemory() {
  if (&mallctl != nullptr) {
    mallctl("arena.4096.purge", nullptr, nullptr, nullptr, 0);  // 4096: all of them
  } else {
    ::malloc_trim(0);
  }
}

}  // namespace ndlfs::backends
