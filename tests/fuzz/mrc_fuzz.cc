// SPDX-License-Identifier: MIT
//
// Any bytes as an MRC file.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "backends/format/mrc/mrc.h"
#include "tests/fuzz/read_hierarchy.h"
#include "tests/support/memory_source.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto source = ndlfs::test::MemorySource::Make();
  source->Put("a.mrc", bytes);
  const auto hierarchy =
      ndlfs::backends::MrcFormat().Open(source, "a.mrc", {.max_chunk_size = uint64_t{1} << 20});
  if (hierarchy) ndlfs::fuzz::HierarchyReader(**hierarchy).Visit();
  return 0;
}
