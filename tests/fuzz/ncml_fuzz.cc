// SPDX-License-Identifier: MIT
//
// Any bytes are either refused with a reason, or a store of the files that are there.
#include <cstdint>
#include <string_view>

#include "backends/detection.h"
#include "backends/format/ncml/ncml.h"
#include "tests/fuzz/read_hierarchy.h"
#include "tests/support/memory_source.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ndlfs;
  constexpr std::string_view kPart =
      "/: {dimcoords: {t: {size: 2, type: int8, value: [1, 2]}}, ndarrays: {v: {shape: [t], "
      "type: "
      "int16, value: [3, 4]}}}";
  const auto source = test::MemorySource::Make();
  source->Put("a.ncml", {reinterpret_cast<const char*>(data), size});
  for (const char* name : {"p.ndl.yaml", "d/q.ndl.yaml"}) source->Put(name, kPart);
  const auto opened = backends::OpenDetected(backends::NcmlFormat(), source, "a.ncml", {});
  if (opened) fuzz::HierarchyReader(**opened).Visit();
  return 0;
}
