// SPDX-License-Identifier: MIT
//
// An array whose chunks a test puts into memory.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/array_source.h"
#include "backends/codec/registry.h"
#include "cache/array_reader.h"
#include "tests/support/memory_store.h"

namespace ndlfs::test {

// An array in a MemoryStore, chunk by chunk under keys like "c0.1", with
// identity codecs. Missing keys are absent chunks.
class TestSource final : public backends::ArraySource {
 public:
  TestSource(model::Datatype dtype, backends::ChunkGrid grid,
             std::vector<std::byte> fill = {}) {
    spec_.dtype = std::move(dtype);
    spec_.shape = grid.array_shape();
    spec_.codecs =
        backends::MakeZarr3Chain(
            backends::Json::parse(R"([{"name":"bytes","configuration":{"endian":"little"}}])"),
            {spec_.dtype, grid.max_chunk_shape()})
            .value();
    spec_.grid = std::move(grid);
    spec_.fill = std::move(fill);
  }

  const backends::ArraySpec& spec() const override { return spec_; }
  model::Result<backends::ChunkLocation> Locate(std::span<const uint64_t> index,
                                                backends::IndexCache&) const override {
    backends::ChunkLocation location;
    location.store = store_;
    location.key = Key(index);
    location.pieces = {{}};
    return location;
  }
  std::optional<backends::ContiguousRange> contiguous() const override { return contiguous_; }

  static std::string Key(std::span<const uint64_t> index) {
    return "c" + cache::FormatChunkIndex(index);
  }

  backends::ArraySpec spec_;
  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
  std::optional<backends::ContiguousRange> contiguous_;
};

}  // namespace ndlfs::test
