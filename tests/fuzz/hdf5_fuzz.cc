// SPDX-License-Identifier: MIT
//
// Any bytes as an HDF5 file: superblock, headers, heaps, trees, layouts and datatypes of all
// that it leads to, and the first elements.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "backends/format/hdf5/hdf5.h"
#include "tests/fuzz/read_hierarchy.h"
#include "tests/support/memory_source.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto source = ndlfs::test::MemorySource::Make();
  source->Put("a.h5", bytes);
  const auto hierarchy =
      ndlfs::backends::Hdf5Format().Open(source, "a.h5", {.max_chunk_size = uint64_t{1} << 20});
  if (hierarchy) ndlfs::fuzz::HierarchyReader(**hierarchy).Visit();
  return 0;
}
