// SPDX-License-Identifier: MIT
//
// The metadata files of an Icechunk repository. The first byte of the input says which of them
// is made of the rest: the payload of `repo`, of the snapshot or of the manifest, or a whole
// file. The others are sound.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "backends/format/icechunk/icechunk.h"
#include "backends/format/versioned.h"
#include "tests/fuzz/read_hierarchy.h"
#include "tests/support/icechunk_files.h"
#include "tests/support/memory_source.h"

namespace ndlfs {
namespace {

using test::IcechunkFile;
using test::IcechunkIdText;
using test::IcechunkKind;

std::string Payload(IcechunkKind kind) {
  switch (kind) {
    case IcechunkKind::kRepo:
      return test::IcechunkRepoPayload({.snapshots = {{1}}});
    case IcechunkKind::kSnapshot:
      return test::IcechunkSnapshot(
          1, {{"/", test::kIcechunkGroup, 1},
              {"/a", test::IcechunkArrayJson("[8]", "[2]"), 2, true, {{20, {{0, 4}}}}}});
    case IcechunkKind::kManifest:
      return test::IcechunkManifest(
          20, {{2,
                {{.index = {0}, .inline_data = "12345678"},
                 {.index = {1}, .chunk_id = 30, .offset = 1, .length = 8},
                 {.index = {2}, .location = "file:///data/file", .length = 8},
                 {.index = {3}, .compressed_location = "frame", .length = 8}}}});
  }
  return {};
}

void Run(std::string_view input) {
  if (input.empty()) return;
  constexpr IcechunkKind kKinds[] = {IcechunkKind::kRepo, IcechunkKind::kSnapshot,
                                     IcechunkKind::kManifest};
  const auto choice = static_cast<unsigned char>(input[0]);
  const auto source = test::MemorySource::Make();
  const std::string paths[] = {"r/repo", "r/snapshots/" + IcechunkIdText(1),
                               "r/manifests/" + IcechunkIdText(20)};
  for (unsigned i = 0; i < 3; ++i) {
    const bool is_chosen = i == choice % 3;
    const std::string file =
        is_chosen && choice >= 3
            ? std::string(input.substr(1))
            : IcechunkFile(kKinds[i],
                           is_chosen ? std::string(input.substr(1)) : Payload(kKinds[i]), 2,
                           /*compressed=*/false);
    source->Put(paths[i], file);
  }
  source->Put("r/chunks/" + IcechunkIdText(30), "123456789");
  const auto hierarchy =
      backends::IcechunkFormat().Open(source, "r", {.max_chunk_size = 1 << 16});
  if (!hierarchy) return;
  fuzz::HierarchyReader(**hierarchy).Visit();
  (void)dynamic_cast<const backends::Versioned&>(**hierarchy).Log().has_value();
}

}  // namespace
}  // namespace ndlfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ndlfs::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
