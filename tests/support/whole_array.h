// SPDX-License-Identifier: MIT
//
// Reads all of an array by what its source says, without caches: for tests of
// formats, which are below cache/.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "backends/base/checked.h"
#include "backends/codec/byte_swap.h"
#include "backends/format/array_source.h"
#include "model/error.h"

namespace ndlfs::test {

// Loads without keeping.
class NoIndexCache final : public backends::IndexCache {
 public:
  model::Result<std::shared_ptr<const backends::Bytes>> GetOrLoad(
      uint64_t, uint64_t,
      const std::function<model::Result<backends::Bytes>()>& load) override {
    NDLFS_TRY(auto bytes, load());
    return std::make_shared<const backends::Bytes>(std::move(bytes));
  }
};

// The encoded bytes of a chunk.
inline model::Result<backends::Bytes> ReadPieces(const backends::ChunkLocation& location) {
  if (location.inline_bytes) return backends::Bytes::Copy(location.inline_bytes->span());
  std::vector<std::byte> all;
  for (const backends::ByteRange& piece : location.pieces) {
    NDLFS_TRY(const auto bytes, location.store->Read(location.key, 1 << 30, piece));
    if (!bytes) return model::NotFound("no {}", location.key);
    if (piece.length != backends::ByteRange::kToEnd && bytes->size() != piece.length) {
      return model::Corrupt("a piece of {} bytes, expected {}", bytes->size(), piece.length);
    }
    all.insert(all.end(), bytes->data(), bytes->data() + bytes->size());
  }
  return backends::Bytes::Copy(all);
}

// One chunk of elements of fixed size, decoded.
inline model::Result<backends::Bytes> ReadChunk(const backends::ArraySource& source,
                                                const std::vector<uint64_t>& index) {
  const backends::ArraySpec& spec = source.spec();
  NoIndexCache indexes;
  NDLFS_TRY(const auto location, source.Locate(index, indexes));
  if (location.generate) return location.generate(spec.max_chunk_bytes);
  const std::vector<uint64_t> shape = spec.grid.ChunkShape(index);
  const size_t item = spec.dtype.size();
  backends::Bytes decoded(*backends::CheckedProduct(shape, item));
  if (location.absent()) {
    for (size_t i = 0; i < decoded.size(); ++i) {
      decoded.data()[i] = spec.fill.empty() ? std::byte{0} : spec.fill[i % item];
    }
    return decoded;
  }
  NDLFS_TRY(const auto encoded, ReadPieces(location));
  backends::Scratch scratch;
  NDLFS_RETURN_IF_ERROR(
      spec.codecs.Decode(encoded.span(), shape, decoded.span(), scratch, location.skip_codecs));
  return decoded;
}

// Calls `visit(index)` for every chunk, until it returns an error.
inline model::Result<void> ForEachChunk(
    const backends::ChunkGrid& grid,
    const std::function<model::Result<void>(const std::vector<uint64_t>&)>& visit) {
  if (*backends::CheckedProduct(grid.counts()) == 0) return {};
  std::vector<uint64_t> index(grid.rank());
  for (;;) {
    NDLFS_RETURN_IF_ERROR(visit(index));
    size_t dim = grid.rank();
    while (dim-- > 0 && ++index[dim] == grid.counts()[dim]) index[dim] = 0;
    if (dim == static_cast<size_t>(-1)) return {};
  }
}

// Copies the elements of a chunk that lie in the array to their place.
inline void PlaceChunk(const backends::ArraySpec& spec, const std::vector<uint64_t>& index,
                       const backends::Bytes& chunk, std::string& whole) {
  const size_t item = spec.dtype.size();
  const std::vector<uint64_t> shape = spec.grid.ChunkShape(index);
  const uint64_t count = *backends::CheckedProduct(shape);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t rest = i;
    uint64_t stride = 1;
    uint64_t to = 0;
    bool inside = true;
    for (size_t dim = shape.size(); dim-- > 0; rest /= shape[dim]) {
      const uint64_t at = spec.grid.Begin(dim, index[dim]) + rest % shape[dim];
      inside = inside && at < spec.shape[dim];
      to += at * stride;
      stride *= spec.shape[dim];
    }
    if (inside) std::memcpy(whole.data() + to * item, chunk.data() + i * item, item);
  }
}

// The elements of fixed size in C order, little-endian, chunk by chunk.
inline model::Result<std::string> ReadByChunks(const backends::ArraySource& source) {
  const backends::ArraySpec& spec = source.spec();
  std::string whole(*backends::CheckedProduct(spec.shape, spec.dtype.size()), '?');
  NDLFS_RETURN_IF_ERROR(
      ForEachChunk(spec.grid, [&](const std::vector<uint64_t>& index) -> model::Result<void> {
        NDLFS_TRY(const auto chunk, ReadChunk(source, index));
        PlaceChunk(spec, index, chunk, whole);
        return {};
      }));
  return whole;
}

// The same from the range of a file, where the source has one.
inline model::Result<std::string> ReadInPlace(const backends::ArraySource& source) {
  const backends::ArraySpec& spec = source.spec();
  const auto range = source.contiguous();
  if (!range) return model::NotFound("not contiguous");
  const uint64_t size = *backends::CheckedProduct(spec.shape, spec.dtype.size());
  NDLFS_TRY(auto bytes, range->store->Read(range->key, size, {range->offset, size}));
  if (!bytes || bytes->size() != size) return model::Corrupt("too short");
  NDLFS_TRY(const auto runs, model::PlanByteSwap(range->stored, model::ByteOrder::kLittle));
  backends::SwapElements(runs, spec.dtype.size(), bytes->span(), bytes->span());
  return std::string(backends::AsText(bytes->span()));
}

// By chunks; and where it can be read in place, that must give the same.
inline model::Result<std::string> ReadWhole(const backends::ArraySource& source) {
  NDLFS_TRY(auto whole, ReadByChunks(source));
  if (source.contiguous()) {
    NDLFS_TRY(const auto in_place, ReadInPlace(source));
    EXPECT_EQ(in_place, whole) << "read in place, and by chunks";
  }
  return whole;
}

}  // namespace ndlfs::test
