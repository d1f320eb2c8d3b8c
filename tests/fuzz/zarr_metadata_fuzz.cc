// SPDX-License-Identifier: MIT
//
// A Zarr store whose metadata and chunks are any bytes. The input is the text
// of a metadata document, a NUL, and what all chunks hold; its first byte says
// which document that is. Everything that is found is loaded, and the first
// chunks of each array are read.
#include <cstdint>
#include <string>
#include <string_view>

#include "backends/zarr/zarr_format.h"
#include "tests/support/memory_store.h"
#include "tests/support/read_array.h"

namespace ndlfs {
namespace {

constexpr uint64_t kMaxChunks = 16;
constexpr int kMaxNodes = 16;

void ReadChunks(const backends::ArraySource& source) {
  const backends::ArraySpec& spec = source.spec();
  if (!spec.dtype.is_fixed_size()) return;
  for (const uint64_t count : spec.grid.counts()) {
    if (count == 0) return;
  }
  test::PlainIndexCache indexes;
  std::vector<uint64_t> index(spec.shape.size());
  uint64_t chunks = 0;
  do {
    (void)test::ReadChunk(source, index, indexes).has_value();
  } while (++chunks < kMaxChunks && test::NextIndex(index, spec.grid.counts()));
}

void Visit(const backends::Hierarchy& hierarchy, const std::string& path, int& nodes) {
  if (++nodes > kMaxNodes) return;
  (void)hierarchy.Version(path).has_value();
  const auto node = hierarchy.Load(path);
  if (node && (*node)->source) ReadChunks(*(*node)->source);
  const auto children = hierarchy.List(path);
  if (!children) return;
  for (const std::string& name : *children) {
    Visit(hierarchy, (path == "/" ? path : path + "/") + name, nodes);
  }
}

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
  int nodes = 0;
  if (hierarchy) Visit(**hierarchy, "/", nodes);
}

}  // namespace
}  // namespace ndlfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ndlfs::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
