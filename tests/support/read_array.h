// SPDX-License-Identifier: MIT
//
// Reads arrays in the plainest way, without the caches above the formats, to
// compare with: chunk by chunk, element by element.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/base/checked.h"
#include "backends/format/array_source.h"
#include "model/datatype.h"

namespace ndlfs::test {

// Keeps everything.
class PlainIndexCache final : public backends::IndexCache {
 public:
  model::Result<std::shared_ptr<const void>> GetOrLoadWeighed(
      uint64_t id, uint64_t slot,
      const std::function<model::Result<Weighed>()>& load) override {
    auto& kept = kept_[{id, slot}];
    if (!kept.object) {
      NDLFS_TRY(kept, load());
    }
    return kept.object;
  }
  // The weight of all that it keeps.
  uint64_t weight() const {
    uint64_t weight = 0;
    for (const auto& [key, kept] : kept_) weight += kept.weight;
    return weight;
  }
  size_t size() const { return kept_.size(); }
  void Clear() { kept_.clear(); }

 private:
  std::map<std::pair<uint64_t, uint64_t>, Weighed> kept_;
};

// The encoded bytes of a chunk; nullopt if it is absent.
inline model::Result<std::optional<std::string>> ReadPieces(
    const backends::ChunkLocation& location) {
  if (location.inline_bytes) {
    return std::string(backends::AsText(location.inline_bytes->span()));
  }
  if (location.pieces.empty()) return std::nullopt;
  std::string encoded;
  for (const auto& piece : location.pieces) {
    NDLFS_TRY(const auto bytes, location.store->Read(location.key, uint64_t{1} << 30, piece));
    if (!bytes) return std::nullopt;
    if (piece.length != backends::ByteRange::kToEnd && bytes->size() != piece.length) {
      return model::Corrupt("a piece of {} bytes, expected {}", bytes->size(), piece.length);
    }
    encoded += backends::AsText(bytes->span());
  }
  return encoded;
}

// `count` times the fill value.
inline std::string FillElements(const backends::ArraySpec& spec, size_t count) {
  const std::string zeros(spec.dtype.size(), '\0');
  const std::string element =
      spec.fill.empty() ? zeros : std::string(backends::AsText(spec.fill));
  std::string elements;
  for (size_t i = 0; i < count; ++i) elements += element;
  return elements;
}

// One chunk, decoded.
inline model::Result<std::string> ReadChunk(const backends::ArraySource& source,
                                            const std::vector<uint64_t>& index,
                                            backends::IndexCache& indexes) {
  const backends::ArraySpec& spec = source.spec();
  NDLFS_TRY(const auto location, source.Locate(index, indexes));
  const auto shape = spec.grid.ChunkShape(index);
  size_t size = spec.dtype.size();
  for (const uint64_t extent : shape) size *= extent;
  if (location.generate) {
    NDLFS_TRY(const auto decoded, location.generate(spec.max_chunk_bytes));
    return std::string(backends::AsText(decoded.span()));
  }
  NDLFS_TRY(const auto encoded, ReadPieces(location));
  if (!encoded) return FillElements(spec, spec.dtype.size() ? size / spec.dtype.size() : 0);
  std::string decoded(size, '\0');
  backends::Scratch scratch;
  NDLFS_RETURN_IF_ERROR(spec.codecs.Decode(backends::AsBytes(*encoded), shape,
                                           std::as_writable_bytes(std::span(decoded)), scratch,
                                           location.skip_codecs));
  return decoded;
}

inline model::Result<std::string> ReadChunk(const backends::ArraySource& source,
                                            const std::vector<uint64_t>& index) {
  PlainIndexCache indexes;
  return ReadChunk(source, index, indexes);
}

// Advances `index` below `counts` in C order; false at the end.
inline bool NextIndex(std::vector<uint64_t>& index, const std::vector<uint64_t>& counts) {
  for (size_t dim = index.size(); dim-- > 0;) {
    if (++index[dim] < counts[dim]) return true;
    index[dim] = 0;
  }
  return false;
}

// Calls `visit(index)` for each chunk in C order, until it returns an error.
inline model::Result<void> ForEachChunk(
    const backends::ChunkGrid& grid,
    const std::function<model::Result<void>(const std::vector<uint64_t>&)>& visit) {
  for (const uint64_t count : grid.counts()) {
    if (count == 0) return {};
  }
  std::vector<uint64_t> index(grid.rank());
  do {
    NDLFS_RETURN_IF_ERROR(visit(index));
  } while (NextIndex(index, grid.counts()));
  return {};
}

// Copies the elements of a chunk that lie in the array to their place in all of them.
inline void PlaceChunk(const backends::ArraySpec& spec, const std::vector<uint64_t>& chunk,
                       const std::string& decoded, std::string& all) {
  const size_t item = spec.dtype.size();
  const auto shape = spec.grid.ChunkShape(chunk);
  std::vector<uint64_t> inside(shape.size());
  size_t from = 0;
  do {
    size_t to = 0;
    bool in_array = true;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      const uint64_t at = spec.grid.Begin(dim, chunk[dim]) + inside[dim];
      in_array = in_array && at < spec.shape[dim];
      to = to * spec.shape[dim] + at;
    }
    if (in_array) std::memcpy(all.data() + to * item, decoded.data() + from, item);
    from += item;
  } while (NextIndex(inside, shape));
}

// All elements in C order, little-endian, through the chunks. For elements of fixed size.
inline model::Result<std::string> ReadByChunks(const backends::ArraySource& source) {
  const backends::ArraySpec& spec = source.spec();
  std::string all(*backends::CheckedProduct(spec.shape, spec.dtype.size()), '?');
  PlainIndexCache indexes;
  NDLFS_RETURN_IF_ERROR(
      ForEachChunk(spec.grid, [&](const std::vector<uint64_t>& chunk) -> model::Result<void> {
        NDLFS_TRY(const auto decoded, ReadChunk(source, chunk, indexes));
        PlaceChunk(spec, chunk, decoded, all);
        return {};
      }));
  return all;
}

// The same from the range of a file, for sources that have one.
inline model::Result<std::string> ReadInPlace(const backends::ArraySource& source) {
  const auto range = source.contiguous();
  if (!range) return model::NotFound("not contiguous");
  const size_t item = range->stored.size();
  std::string all(*backends::CheckedProduct(source.spec().shape, item), '?');
  NDLFS_TRY(const auto count, range->store->ReadInto(range->key, range->offset,
                                                     std::as_writable_bytes(std::span(all))));
  if (!count || *count != all.size()) return model::Corrupt("too short");
  NDLFS_TRY(const auto runs, model::PlanByteSwap(range->stored, model::ByteOrder::kLittle));
  for (size_t element = 0; item != 0 && element < all.size(); element += item) {
    for (const auto& run : runs) {
      for (size_t i = 0; i < run.count; ++i) {
        const auto begin =
            all.begin() + static_cast<ptrdiff_t>(element + run.offset + i * run.width);
        std::reverse(begin, begin + static_cast<ptrdiff_t>(run.width));
      }
    }
  }
  return all;
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

// The elements, or "error: ..." when one cannot be read.
inline std::string TextOf(const model::Result<std::string>& elements) {
  return elements ? *elements : "error: " + elements.error().message();
}
inline std::string ReadThroughChunks(const backends::ArraySource& source) {
  return TextOf(ReadByChunks(source));
}
inline std::string ReadThroughRange(const backends::ArraySource& source) {
  return TextOf(ReadInPlace(source));
}

}  // namespace ndlfs::test
