// SPDX-License-Identifier: MIT
//
// A shard of any bytes: its index, and every inner chunk that this leads to.
// The first byte of the input says what the index is like.
#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "backends/format/zarr/zarr_format.h"
#include "tests/fuzz/read_hierarchy.h"
#include "tests/support/memory_store.h"

namespace ndlfs {
namespace {

constexpr std::string_view kLittle =
    R"({"name": "bytes", "configuration": {"endian": "little"}})";

// `shape` of the inner chunks; `inner` are their codecs.
std::string Sharding(std::string_view shape, const std::string& inner, bool checksum,
                     bool start) {
  return fmt::format(
      R"({{"name": "sharding_indexed", "configuration": {{"chunk_shape": {}, "codecs": [{}], )"
      R"("index_codecs": [{}{}], "index_location": "{}"}}}})",
      shape, inner, kLittle, checksum ? R"(, {"name": "crc32c"})" : "",
      start ? "start" : "end");
}

std::string Metadata(unsigned style) {
  const bool checksum = (style & 1) != 0;
  const bool start = (style & 2) != 0;
  std::string inner(kLittle);
  if ((style & 4) != 0) inner += R"(, {"name": "crc32c"})";
  if ((style & 8) != 0) inner = Sharding("[2, 2]", inner, checksum, !start);
  return fmt::format(
      R"({{"zarr_format": 3, "node_type": "array", "shape": [8, 8], "data_type": "int16", )"
      R"("chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": [8, 8]}}}}, )"
      R"("chunk_key_encoding": {{"name": "default"}}, "fill_value": 7, "codecs": [{}]}})",
      Sharding("[4, 4]", inner, checksum, start));
}

void Run(std::string_view input) {
  if (input.empty()) return;
  const auto store = std::make_shared<test::MemoryStore>();
  store->Put("zarr.json", Metadata(static_cast<uint8_t>(input.front())));
  store->Put("c/0/0", input.substr(1));
  const auto hierarchy = backends::OpenZarr(store, "", "a", {.max_chunk_size = 1 << 16});
  if (!hierarchy) std::abort();
  fuzz::HierarchyReader(**hierarchy).Visit();
}

}  // namespace
}  // namespace ndlfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ndlfs::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
