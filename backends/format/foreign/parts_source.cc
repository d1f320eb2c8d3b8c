// SPDX-License-Identifier: MIT
#include "backends/format/foreign/parts_source.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "backends/base/checked.h"
#include "backends/codec/registry.h"
#include "backends/format/block_shape.h"

namespace ndlfs::backends::foreign {
namespace {

using model::Result;

// Limits for a chunk that is put together from pieces of a file.
constexpr uint64_t kMaxPieces = 256;
constexpr uint64_t kGatheredBytes = uint64_t{64} << 10;

std::vector<uint64_t> PackedStrides(const std::vector<uint64_t>& shape, uint64_t element) {
  std::vector<uint64_t> strides(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = element;
    element *= std::max<uint64_t>(shape[d], 1);
  }
  return strides;
}

// The first dimension from which on elements lie without gaps.
size_t FirstPacked(const PartsLayout& layout) {
  size_t d = layout.shape.size();
  uint64_t bytes = layout.stored.size();
  while (d > 0 && (layout.strides[d - 1] == bytes || layout.shape[d - 1] == 1)) {
    bytes *= layout.shape[--d];
  }
  return d;
}

// Makes the first extent of a block one that no part ends within.
void KeepWithinParts(const Parts& parts, std::vector<uint64_t>& block) {
  if (parts.size() < 2) return;
  uint64_t rows = 0;
  for (const Part& part : parts) rows = std::gcd(rows, part.rows);
  while (rows % block[0] != 0) --block[0];
}

std::vector<uint64_t> ChooseBlock(const PartsLayout& layout, size_t packed) {
  std::vector<uint64_t> block(packed, 1);
  const auto inner = std::span(layout.shape).subspan(packed);
  const auto whole = ContiguousBlockShape(inner, layout.stored.size(), kBlockBytes);
  block.insert(block.end(), whole.begin(), whole.end());
  if (packed > 0 && std::equal(inner.begin(), inner.end(), whole.begin())) {
    const uint64_t piece = *CheckedProduct(inner, layout.stored.size());
    uint64_t room = std::min(kMaxPieces, kGatheredBytes / std::max<uint64_t>(piece, 1));
    for (size_t d = packed; d-- > 0 && room > 1; room /= block[d]) {
      block[d] = std::clamp<uint64_t>(room, 1, std::max<uint64_t>(layout.shape[d], 1));
      if (block[d] < layout.shape[d]) break;
    }
  }
  if (!block.empty()) KeepWithinParts(*layout.parts, block);
  return block;
}

class PartsSource final : public ArraySource {
 public:
  PartsSource(ArraySpec spec, PartsLayout layout, size_t packed)
      : spec_(std::move(spec)), layout_(std::move(layout)), packed_(packed) {}

  const ArraySpec& spec() const override { return spec_; }

  Result<ChunkLocation> Locate(std::span<const uint64_t> index, IndexCache&) const override {
    const uint64_t row = index.empty() ? 0 : spec_.grid.Begin(0, index[0]);
    const Part& part =
        *std::prev(std::ranges::upper_bound(*layout_.parts, row, {}, &Part::first_row));
    ChunkLocation location;
    location.store = layout_.store;
    location.key = part.key;
    const auto shape = spec_.grid.ChunkShape(index);
    const uint64_t piece =
        *CheckedProduct(std::span(shape).subspan(packed_), layout_.stored.size());
    // Where the first row of all would be. Wraps around, as does what is computed with it.
    const uint64_t skipped = index.empty() ? 0 : part.first_row * layout_.strides[0];
    AddPieces(index, shape, 0, layout_.offset - skipped, piece, location.pieces);
    return location;
  }

  std::optional<ContiguousRange> contiguous() const override {
    if (layout_.parts->size() != 1 || packed_ != 0 || layout_.codec) return std::nullopt;
    return ContiguousRange{layout_.store, layout_.parts->front().key, layout_.offset,
                           layout_.stored, std::nullopt};
  }

 private:
  void AddPieces(std::span<const uint64_t> index, const std::vector<uint64_t>& shape, size_t d,
                 uint64_t offset, uint64_t piece, std::vector<ByteRange>& pieces) const {
    if (d == index.size()) {
      pieces.push_back({offset, piece});
      return;
    }
    offset += spec_.grid.Begin(d, index[d]) * layout_.strides[d];
    const uint64_t count = d < packed_ ? shape[d] : 1;
    for (uint64_t i = 0; i < count; ++i) {
      AddPieces(index, shape, d + 1, offset + i * layout_.strides[d], piece, pieces);
    }
  }

  const ArraySpec spec_;
  const PartsLayout layout_;
  const size_t packed_;
};

// All in one chunk.
class CompressedSource final : public ArraySource {
 public:
  CompressedSource(ArraySpec spec, PartsLayout layout)
      : spec_(std::move(spec)), layout_(std::move(layout)) {}
  const ArraySpec& spec() const override { return spec_; }
  Result<ChunkLocation> Locate(std::span<const uint64_t>, IndexCache&) const override {
    ChunkLocation location;
    location.store = layout_.store;
    location.key = layout_.parts->front().key;
    location.pieces = {{layout_.offset, ByteRange::kToEnd}};
    return location;
  }

 private:
  const ArraySpec spec_;
  const PartsLayout layout_;
};

Result<uint64_t> BytesOf(const PartsLayout& layout) {
  const auto bytes = CheckedProduct(layout.shape, layout.stored.size());
  if (!bytes || *bytes > kMaxViewSize) return model::Limit("too many elements");
  return *bytes;
}

Result<ArraySpec> MakeSpec(const PartsLayout& layout) {
  ArraySpec spec;
  spec.dtype = layout.dtype.value_or(layout.stored.WithOrder(model::ByteOrder::kLittle));
  spec.shape = layout.shape;
  spec.fill = layout.fill;
  return spec;
}

}  // namespace

std::shared_ptr<const Parts> OnePart(const std::vector<uint64_t>& shape) {
  return std::make_shared<const Parts>(Parts{{"", 0, shape.empty() ? 1 : shape[0]}});
}

std::optional<uint64_t> EndOfPart(const PartsLayout& layout, uint64_t rows) {
  std::vector<uint64_t> shape = layout.shape;
  if (!shape.empty()) shape[0] = rows;
  if (CheckedProduct(shape) == uint64_t{0}) return layout.offset;
  if (layout.strides.empty()) {
    const auto bytes = CheckedProduct(shape, layout.stored.size());
    return bytes ? CheckedAdd(layout.offset, *bytes) : std::nullopt;
  }
  std::optional<uint64_t> end = CheckedAdd(layout.offset, layout.stored.size());
  for (size_t d = 0; d < shape.size() && end; ++d) {
    const auto last = CheckedMultiply(shape[d] - 1, layout.strides[d]);
    end = last ? CheckedAdd(*end, *last) : std::nullopt;
  }
  return end;
}

Result<std::shared_ptr<const ArraySource>> MakePartsSource(PartsLayout layout) {
  if (layout.stored.size() == 0) return model::Unsupported("elements of 0 bytes");
  NDLFS_RETURN_IF_ERROR(BytesOf(layout));
  // Any part is smaller than one of all rows.
  const auto end = EndOfPart(layout, layout.shape.empty() ? 1 : layout.shape[0]);
  if (!end || *end > kMaxViewSize) return model::Limit("too many elements");
  if (layout.strides.empty()) {
    layout.strides = PackedStrides(layout.shape, layout.stored.size());
  }
  const size_t packed = FirstPacked(layout);
  NDLFS_TRY(ArraySpec spec, MakeSpec(layout));
  const auto block = ChooseBlock(layout, packed);
  NDLFS_TRY(spec.grid, ChunkGrid::Regular(spec.shape, block, ChunkGrid::Edge::kCropped));
  auto codec = layout.codec;
  if (!codec) {
    NDLFS_TRY(codec, MakeStoredBytes(layout.stored));
  }
  NDLFS_TRY(spec.codecs, CodecChain::Make({spec.dtype, block}, {}, std::move(codec), {}));
  return std::make_shared<PartsSource>(std::move(spec), std::move(layout), packed);
}

Result<std::shared_ptr<const ArraySource>> MakeCompressedSource(PartsLayout layout,
                                                                std::string_view compressor,
                                                                uint64_t max_bytes) {
  NDLFS_TRY(const uint64_t bytes, BytesOf(layout));
  if (bytes > max_bytes) {
    return model::Limit("{} bytes that are compressed as one, more than the limit of {}", bytes,
                        max_bytes);
  }
  NDLFS_TRY(ArraySpec spec, MakeSpec(layout));
  std::vector<uint64_t> block = spec.shape;
  for (uint64_t& extent : block) extent = std::max<uint64_t>(extent, 1);
  NDLFS_TRY(spec.grid, ChunkGrid::Regular(spec.shape, block, ChunkGrid::Edge::kCropped));
  NDLFS_TRY(spec.codecs,
            MakeZarr2Chain(nullptr, {{"id", compressor}}, false, layout.stored, block));
  return std::make_shared<CompressedSource>(std::move(spec), std::move(layout));
}

}  // namespace ndlfs::backends::foreign
