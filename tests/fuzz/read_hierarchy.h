// SPDX-License-Identifier: MIT
//
// What the fuzz targets do with a store that could be opened: look at
// everything, and decode the first chunks of each array.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/format/hierarchy.h"
#include "cache/chunk_loader.h"
#include "model/path_name.h"
#include "tests/support/read_array.h"

namespace ndlfs::fuzz {

class HierarchyReader {
 public:
  explicit HierarchyReader(const backends::Hierarchy& hierarchy) : hierarchy_(hierarchy) {}

  void Visit(const std::string& path = "/") {
    if (++nodes_ > kMaxNodes) return;
    (void)hierarchy_.Version(path).has_value();
    (void)hierarchy_.GetLink(path).has_value();
    const auto node = hierarchy_.Load(path);
    if (node && (*node)->source) ReadChunks(*(*node)->source);
    const auto names = hierarchy_.List(path);
    if (!names) return;
    for (const std::string& name : *names) Visit(model::JoinPath(path, name));
  }

  static void ReadChunks(const backends::ArraySource& source) {
    const backends::ArraySpec& spec = source.spec();
    for (const uint64_t count : spec.grid.counts()) {
      if (count == 0) return;
    }
    test::PlainIndexCache indexes;
    std::vector<uint64_t> index(spec.shape.size());
    uint64_t chunks = 0;
    do {
      (void)cache::LoadChunk(source, index, {.indexes = indexes}, source.spec().max_chunk_bytes)
          .has_value();
    } while (++chunks < kMaxChunks && test::NextIndex(index, spec.grid.counts()));
  }

 private:
  static constexpr int kMaxNodes = 32;
  static constexpr uint64_t kMaxChunks = 8;

  const backends::Hierarchy& hierarchy_;
  int nodes_ = 0;
};

}  // namespace ndlfs::fuzz
