// SPDX-License-Identifier: MIT
//
// Any bytes are either refused with a reason, or a DMR++ document of the file that is there.
// Bytes behind the last 0xfe are the data file, behind its signature.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "backends/format/dmrpp/dmrpp.h"
#include "tests/fuzz/read_hierarchy.h"
#include "tests/support/memory_source.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ndlfs;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(input.rfind('\xfe'), input.size());
  const auto source = test::MemorySource::Make();
  std::string file("\x89HDF\r\n\x1a\n", 8);
  file += input.substr(std::min(end + 1, input.size()));
  file.resize(std::max<size_t>(file.size(), 256), '\1');
  source->Put("a", file);
  source->Put("b.bin", file);
  source->Put("a.dmrpp", input.substr(0, end));
  const auto opened =
      backends::DmrppFormat().Open(source, "a.dmrpp", {.max_chunk_size = uint64_t{1} << 20});
  if (opened) fuzz::HierarchyReader(**opened).Visit();
  return 0;
}
