// SPDX-License-Identifier: MIT
//
// What ndlfs itself reads of a file of HDF4: the text of HDF-EOS2, the list of elements, and
// what the process of libhdf4 answers. Any bytes are either refused with a reason, or
// understood.
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "backends/format/hdf4/chunk_header.h"
#include "backends/format/hdf4/messages.h"
#include "backends/format/hdf4/node_builder.h"
#include "backends/format/hdf4/place.h"
#include "backends/format/hdf4/skeleton.h"
#include "backends/format/hdf4/struct_metadata.h"
#include "tests/fuzz/read_hierarchy.h"
#include "tests/support/memory_source.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ndlfs;
  namespace hdf4 = backends::hdf4;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  for (const auto& grid : hdf4::ReadGrids(input)) (void)hdf4::PlaceOf(grid).has_value();
  const auto source = test::MemorySource::Make();
  source->Put("a", input);
  const auto store = source->OpenFile("a");
  const auto info = store->Stat("").value();
  std::vector<hdf4::Piece> blocks;
  (void)hdf4::ReadElementList(*store, *info, blocks).has_value();
  (void)hdf4::FindCompressed(backends::AsBytes(input), hdf4::ArrayInfo::Coding::kDeflate, {})
      .has_value();
  (void)hdf4::DecodeQuestion(input).has_value();
  auto file = hdf4::DecodeFileInfo(input);
  if (!file) return 0;
  const auto objects = hdf4::MakeObjects({store, *info, nullptr, nullptr}, *std::move(file),
                                         {.max_chunk_size = uint64_t{1} << 20});
  if (!objects) return 0;
  for (const auto& [path, node] : objects->nodes) {
    if (node->source) fuzz::HierarchyReader::ReadChunks(*node->source);
  }
  return 0;
}
