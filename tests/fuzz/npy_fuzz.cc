// SPDX-License-Identifier: MIT
//
// An NPY file of any bytes: the header is read, and what can be located of a
// small array lies within the file.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "backends/format/npy/npy_array.h"
#include "tests/support/memory_store.h"
#include "tests/support/read_array.h"

namespace ndlfs {
namespace {

constexpr uint64_t kMaxChunks = 64;

void ReadChunks(const backends::ArraySource& source) {
  const backends::ArraySpec& spec = source.spec();
  uint64_t chunks = 1;
  for (const uint64_t count : spec.grid.counts()) {
    chunks *= count;
    if (chunks == 0 || chunks > kMaxChunks) return;
  }
  test::PlainIndexCache indexes;
  std::vector<uint64_t> index(spec.shape.size());
  do {
    // The data were found to be there, so that nothing can be missing.
    if (!test::ReadChunk(source, index, indexes)) std::abort();
  } while (test::NextIndex(index, spec.grid.counts()));
}

void Run(std::string_view bytes) {
  auto store = std::make_shared<test::MemoryStore>();
  store->Put("a", bytes);
  const auto node = backends::LoadNpyArray(store, "a", "a", backends::FlatAccess::kRandom, {});
  if (node && (*node)->source) ReadChunks(*(*node)->source);
}

}  // namespace
}  // namespace ndlfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ndlfs::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
