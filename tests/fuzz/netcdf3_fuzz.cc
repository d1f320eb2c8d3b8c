// SPDX-License-Identifier: MIT
//
// Any bytes as a netCDF classic file: opened, listed, described, and some
// chunks read.
#include <cstddef>
#include <cstdint>

#include "backends/format/netcdf3/netcdf3.h"
#include "model/path_name.h"
#include "tests/support/memory_store.h"
#include "tests/support/read_array.h"

namespace {

constexpr int kMaxChunks = 16;

void ReadSome(const ndlfs::backends::ArraySource& source) {
  int chunks = 0;
  (void)ndlfs::test::ForEachChunk(
      source.spec().grid,
      [&](const std::vector<uint64_t>& index) -> ndlfs::model::Result<void> {
        (void)ndlfs::test::ReadChunk(source, index);
        if (++chunks == kMaxChunks) return ndlfs::model::NotFound("enough");
        return {};
      });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto store = std::make_shared<ndlfs::test::MemoryStore>();
  store->Put("", {reinterpret_cast<const char*>(data), size});
  const auto hierarchy = ndlfs::backends::netcdf3::Open([&] { return store; });
  if (!hierarchy) return 0;
  (void)(*hierarchy)->Load("/");
  const auto names = (*hierarchy)->List("/");
  for (const std::string& name : names.value()) {
    const auto node = (*hierarchy)->Load(ndlfs::model::JoinPath("/", name));
    if (node && (*node)->source) ReadSome(*(*node)->source);
  }
  return 0;
}
