// SPDX-License-Identifier: MIT
//
// An array whose chunks a test puts into memory.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/codec/registry.h"
#include "backends/format/array_source.h"
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

inline uint64_t Product(const std::vector<uint64_t>& extents) {
  return std::accumulate(extents.begin(), extents.end(), uint64_t{1}, std::multiplies<>());
}

// Cuts `elements` (the whole array in C order) into chunks; what lies outside
// the array is 0xDD. Leaves out the chunks in `absent`.
inline void PutChunks(TestSource& source, const std::string& elements,
                      const std::set<std::string>& absent = {}) {
  const backends::ArraySpec& spec = source.spec();
  const size_t item = spec.dtype.size();
  const size_t rank = spec.shape.size();
  std::vector<uint64_t> index(rank, 0);
  for (;;) {
    const std::vector<uint64_t> shape = spec.grid.ChunkShape(index);
    std::string chunk(Product(shape) * item, '\xDD');
    for (uint64_t at = 0; at < Product(shape); ++at) {
      uint64_t rest = at;
      uint64_t linear = 0;
      std::vector<uint64_t> position(rank);
      for (size_t d = rank; d-- > 0; rest /= shape[d]) position[d] = rest % shape[d];
      bool inside = true;
      for (size_t d = 0; d < rank; ++d) {
        const uint64_t coordinate = spec.grid.Begin(d, index[d]) + position[d];
        inside = inside && coordinate < spec.shape[d];
        linear = linear * spec.shape[d] + coordinate;
      }
      if (inside) std::memcpy(chunk.data() + at * item, elements.data() + linear * item, item);
    }
    const std::string key = TestSource::Key(index);
    if (!absent.contains(key)) source.store_->Put(key, chunk);
    size_t d = rank;
    for (;;) {
      if (d == 0) return;
      --d;
      if (++index[d] < spec.grid.counts()[d]) break;
      index[d] = 0;
    }
  }
}

inline std::string RandomElements(std::mt19937& random, size_t size) {
  std::string elements(size, '\0');
  for (char& c : elements) c = static_cast<char>(random());
  return elements;
}

}  // namespace ndlfs::test
