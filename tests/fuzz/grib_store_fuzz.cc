// SPDX-License-Identifier: MIT
//
// Any bytes as a GRIB file: messages are found, described and grouped, and some are decoded.
// What is behind the last 0xFE is a file beside it that says where messages are.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "backends/format/grib/grib.h"
#include "backends/format/grib/sidecar.h"
#include "tests/fuzz/read_hierarchy.h"
#include "tests/support/memory_source.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)ndlfs::backends::grib::ReadSidecar(bytes.substr(bytes.rfind('\xFE') + 1));
  const auto source = ndlfs::test::MemorySource::Make();
  source->Put("a.grib", bytes);
  const auto hierarchy = ndlfs::backends::GribFormat().Open(
      source, "a.grib", {.max_chunk_size = uint64_t{1} << 20});
  if (hierarchy) ndlfs::fuzz::HierarchyReader(**hierarchy).Visit();
  return 0;
}
