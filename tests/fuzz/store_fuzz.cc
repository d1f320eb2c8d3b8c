// SPDX-License-Identifier: MIT
//
// A store of any keys and values, as Zarr (v2, v3, NCZarr, consolidated or
// not) and as N5. The input is a list of
//
//   key, NUL, bytes of the value as two bytes (little-endian), value
//
// of which the last value may be cut short.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>

#include "backends/format/n5/n5.h"
#include "backends/format/zarr/zarr_format.h"
#include "tests/fuzz/read_hierarchy.h"
#include "tests/support/memory_store.h"

namespace ndlfs {
namespace {

constexpr size_t kMaxKeys = 64;
const backends::OpenOptions kOptions = {.max_chunk_size = 1 << 16};

std::shared_ptr<test::MemoryStore> MakeStore(std::string_view input) {
  auto store = std::make_shared<test::MemoryStore>();
  for (size_t keys = 0; !input.empty() && keys < kMaxKeys; ++keys) {
    const size_t end = std::min(input.find('\0'), input.size());
    const std::string_view key = input.substr(0, end);
    input.remove_prefix(std::min(end + 1, input.size()));
    if (input.size() < 2) break;
    const size_t size = static_cast<uint8_t>(input[0]) + 256 * static_cast<uint8_t>(input[1]);
    input.remove_prefix(2);
    store->Put(key, input.substr(0, size));
    input.remove_prefix(std::min(size, input.size()));
  }
  return store;
}

void Run(std::string_view input) {
  const auto store = MakeStore(input);
  if (const auto zarr = backends::OpenZarr(store, "", "a", kOptions)) {
    fuzz::HierarchyReader(**zarr).Visit();
  }
  fuzz::HierarchyReader(*backends::OpenN5(store, "a", kOptions)).Visit();
}

}  // namespace
}  // namespace ndlfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ndlfs::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
