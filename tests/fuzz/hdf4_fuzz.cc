// SPDX-License-Identifier: MIT
//
// Any bytes as a file of HDF4, as one of its compressed elements, and as the text of HDF-EOS2.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "backends/format/hdf4/coding.h"
#include "backends/format/hdf4/eos_grid.h"
#include "backends/format/hdf4/hdf4.h"
#include "tests/fuzz/read_hierarchy.h"
#include "tests/support/memory_source.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ndlfs;
  namespace hdf4 = backends::hdf4;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  for (const auto& grid : hdf4::ReadGrids(input)) (void)hdf4::PlaceOf(grid).has_value();
  constexpr size_t kParameters = 20;
  if (size > kParameters) {
    const hdf4::Coding coding{static_cast<uint16_t>(data[0] % 16),
                              std::string(input.substr(1, kParameters - 1)), data[1]};
    backends::Bytes decoded(4096);
    if (const auto decoder = hdf4::MakeDecoder(coding)) {
      (void)(*decoder)
          ->Decode(backends::AsBytes(input.substr(kParameters)), decoded.span())
          .has_value();
    }
  }
  const auto source = test::MemorySource::Make();
  source->Put("a.hdf", input);
  const auto hierarchy =
      backends::Hdf4Format().Open(source, "a.hdf", {.max_chunk_size = uint64_t{1} << 20});
  if (hierarchy) fuzz::HierarchyReader(**hierarchy).Visit();
  return 0;
}
