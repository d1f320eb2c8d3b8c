// SPDX-License-Identifier: MIT
//
// A kerchunk reference file of any bytes, beside a file that it may refer to.
// Nothing but what is beneath the root is read: a file outside of it holds
// bytes that never may appear.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "backends/format/kerchunk/kerchunk.h"
#include "backends/store/local/local_source.h"
#include "backends/store/reference/reference_store.h"
#include "tests/fuzz/read_hierarchy.h"
#include "tests/support/python.h"

namespace ndlfs {
namespace {

constexpr std::string_view kSecret = "!secret, never to be seen!";

// "source/", with the files that are always there, and "secret" beside it.
struct Place {
  test::TemporaryDirectory directory;
  std::string source = directory / "source";
  std::shared_ptr<const backends::Source> root;

  Place() {
    std::filesystem::create_directory(source);
    test::WriteFile(source + "/bytes.bin", std::string(4096, 'b'));
    test::WriteFile(directory / "secret", kSecret);
    root = *backends::LocalSource::Open(source);
  }
};

void CheckKeys(const backends::Store& store, const std::string& prefix, int& left) {
  const auto entries = store.List(prefix);
  if (!entries) return;
  for (const backends::StoreEntry& entry : *entries) {
    if (--left < 0) return;
    const std::string key = prefix.empty() ? entry.name : prefix + "/" + entry.name;
    if (entry.is_prefix) CheckKeys(store, key, left);
    const auto value = store.Read(key, 1 << 16);
    if (!value || !*value) continue;
    if (backends::AsText((*value)->span()).find("never to be seen") != std::string_view::npos) {
      std::abort();
    }
  }
}

void Run(std::string_view input) {
  static const Place place;
  // It is the secret itself that may be written into the document.
  if (input.find("never to be") != std::string_view::npos) return;
  test::WriteFile(place.source + "/refs.json", input);
  const auto references = backends::kerchunk::OpenReferences(place.root, "refs.json");
  if (!references) return;
  int left = 32;
  CheckKeys(**references, "", left);
  const auto hierarchy =
      backends::KerchunkFormat().Open(place.root, "refs.json", {.max_chunk_size = 1 << 16});
  if (hierarchy) fuzz::HierarchyReader(**hierarchy).Visit();
}

}  // namespace
}  // namespace ndlfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ndlfs::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
