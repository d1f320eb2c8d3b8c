// SPDX-License-Identifier: MIT
//
// A Zarr store whose metadata and chunks are any bytes. The input is the text
// of a metadata document, a NUL, and what all chunks hold; its first byte says
// which document that is. Everything that is found is loaded, and the first
// chunks of each array are read.
#include <cstdint>
#include <string>
#include <string_view>

#include "backends/format/zarr/zarr_format.h"
#include "tests/fuzz/read_hierarchy.h"
#include "tests/support/memory_store.h"

namespace ndlfs {
namespace {

void Run(std::string_view input) {
  if (input.empty()) return;
  const char kind = input.front();
  input.remove_prefix(1);
  const size_t end = std::min(input.find('\0'), input.size());
  const std::string_view document = input.substr(0, end);
  const std::string_view chunk = input.substr(std::min(end + 1, input.size()));

  auto store = std::make_shared<test::MemoryStore>();
  switch (kind) {
    case '2':
      store->Put(".zarray", document);
      store->Put(".zattrs", chunk);
      break;
    case 'm':
      store->Put(".zmetadata", document);
      break;
    case 'a':
      store->Put(".zgroup", R"({"zarr_format": 2})");
      store->Put(".zattrs", document);
      break;
    default:
      store->Put("zarr.json", document);
  }
  for (const char* key : {"0", "0.0", "0/0", "1", "c", "c/0", "c/0/0", "c.0", "a/0", "a/c/0"}) {
    store->Put(key, chunk);
  }
  const auto hierarchy = backends::OpenZarr(store, "", "a", {.max_chunk_size = 1 << 16});
  if (hierarchy) fuzz::HierarchyReader(**hierarchy).Visit();
}

}  // namespace
}  // namespace ndlfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ndlfs::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
