// SPDX-License-Identifier: MIT
//
// A ZIP archive of any bytes: members are refused, or whole and in parts they
// have the same bytes.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "backends/store/zip/zip_store.h"
#include "tests/support/memory_store.h"

namespace ndlfs {
namespace {

constexpr size_t kMaxMembers = 32;
constexpr uint64_t kMaxSize = 1 << 20;
constexpr size_t kPart = 3001;

// Nullopt where it cannot be read.
std::optional<std::string> ReadPart(const backends::ZipStore& store, std::string_view key,
                                    uint64_t offset, size_t size) {
  std::string part(size, '\0');
  const auto count = store.ReadInto(key, offset, std::as_writable_bytes(std::span(part)));
  if (!count || !*count) return std::nullopt;
  return part.substr(0, **count);
}

void CheckMember(const backends::ZipStore& store, std::string_view key) {
  const auto size = store.Size(key);
  if (!size || !*size || **size > kMaxSize) return;
  const auto whole = ReadPart(store, key, 0, **size + 1);
  for (uint64_t offset = 0; offset < **size; offset += kPart) {
    const auto part = ReadPart(store, key, offset, kPart);
    if (!part || !whole) continue;
    if (*part != whole->substr(offset, kPart)) std::abort();
  }
}

void Run(std::string_view bytes) {
  auto file = std::make_shared<test::MemoryStore>();
  file->Put("", bytes);
  (void)backends::ZipDirectory::AnyName(*file, [](auto name) { return name == "zarr.json"; });
  const auto store = backends::ZipStore::Open(file);
  if (!store) return;
  (void)(*store)->List("");
  const backends::ZipDirectory& directory = (*store)->directory();
  for (size_t i = 0; i < std::min(directory.size(), kMaxMembers); ++i) {
    CheckMember(**store, directory.name(i));
    (void)(*store)->List(directory.name(i));
  }
}

}  // namespace
}  // namespace ndlfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ndlfs::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
