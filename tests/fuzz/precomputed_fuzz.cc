// SPDX-License-Identifier: MIT
//
// Any bytes as a precomputed volume: up to the first 0xFF the document, and behind it the bytes
// of each chunk and shard that inputs name.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "backends/format/precomputed/precomputed.h"
#include "tests/fuzz/read_hierarchy.h"
#include "tests/support/memory_source.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const size_t end = bytes.find('\xFF');
  const auto source = ndlfs::test::MemorySource::Make();
  source->Put("v/info", bytes.substr(0, end));
  const std::string_view rest = end == bytes.npos ? std::string_view() : bytes.substr(end + 1);
  for (const char* name :
       {"v/k/0-4_0-4_0-4", "v/k/4-8_0-4_0-4.gz", "v/k/0.shard", "v/k/1.shard"}) {
    source->Put(name, rest);
  }
  const auto hierarchy = ndlfs::backends::PrecomputedFormat().Open(
      source, "v", {.max_chunk_size = uint64_t{1} << 20});
  if (hierarchy) ndlfs::fuzz::HierarchyReader(**hierarchy).Visit();
  return 0;
}
