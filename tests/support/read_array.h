// SPDX-License-Identifier: MIT
//
// Reads arrays in the plainest way, to compare with: chunk by chunk, element
// by element.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/format/array_source.h"
#include "model/datatype.h"

namespace ndlfs::test {

// Keeps everything.
class PlainIndexCache final : public backends::IndexCache {
 public:
  model::Result<std::shared_ptr<const backends::Bytes>> GetOrLoad(
      uint64_t id, uint64_t slot,
      const std::function<model::Result<backends::Bytes>()>& load) override {
    auto& kept = kept_[{id, slot}];
    if (!kept) {
      NDLFS_TRY(auto bytes, load());
      kept = std::make_shared<const backends::Bytes>(std::move(bytes));
    }
    return kept;
  }
  size_t size() const { return kept_.size(); }
  void Clear() { kept_.clear(); }

 private:
  std::map<std::pair<uint64_t, uint64_t>, std::shared_ptr<const backends::Bytes>> kept_;
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

// Advances `index` below `counts` in C order; false at the end.
inline bool NextIndex(std::vector<uint64_t>& index, const std::vector<uint64_t>& counts) {
  for (size_t dim = index.size(); dim-- > 0;) {
    if (++index[dim] < counts[dim]) return true;
    index[dim] = 0;
  }
  return false;
}

// All elements in C order, little-endian, through the chunks; "error: ..."
// when one cannot be read. For elements of fixed size.
inline std::string ReadThroughChunks(const backends::ArraySource& source) {
  const backends::ArraySpec& spec = source.spec();
  const size_t item = spec.dtype.size();
  size_t size = item;
  for (const uint64_t extent : spec.shape) size *= extent;
  std::string all(size, '?');
  if (size == 0) return all;
  PlainIndexCache indexes;
  std::vector<uint64_t> chunk(spec.shape.size());
  do {
    const auto decoded = ReadChunk(source, chunk, indexes);
    if (!decoded) return "error: " + decoded.error().message();
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
      if (in_array) all.replace(to * item, item, decoded->substr(from, item));
      from += item;
    } while (NextIndex(inside, shape));
  } while (NextIndex(chunk, spec.grid.counts()));
  return all;
}

// The same from the range of a file, for sources that have one.
inline std::string ReadThroughRange(const backends::ArraySource& source) {
  const auto range = source.contiguous();
  if (!range) return "error: not contiguous";
  const size_t item = range->stored.size();
  size_t size = item;
  for (const uint64_t extent : source.spec().shape) size *= extent;
  std::string all(size, '?');
  const auto count =
      range->store->ReadInto(range->key, range->offset, std::as_writable_bytes(std::span(all)));
  if (!count) return "error: " + count.error().message();
  if (!*count || **count != size) return "error: too short";
  const auto runs = model::PlanByteSwap(range->stored, model::ByteOrder::kLittle);
  for (size_t element = 0; item != 0 && element < size; element += item) {
    for (const auto& run : *runs) {
      for (size_t i = 0; i < run.count; ++i) {
        const auto begin =
            all.begin() + static_cast<ptrdiff_t>(element + run.offset + i * run.width);
        std::reverse(begin, begin + static_cast<ptrdiff_t>(run.width));
      }
    }
  }
  return all;
}

}  // namespace ndlfs::test
