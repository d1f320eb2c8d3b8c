// SPDX-License-Identifier: MIT
#include "backends/format/hdf4/array_source.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "backends/base/checked.h"
#include "backends/codec/registry.h"
#include "backends/format/block_shape.h"
#include "backends/format/hdf4/number_type.h"
#include "backends/format/stored_chunks.h"

namespace ndlfs::backends::hdf4 {
namespace {

using model::Result;

bool IsPlain(const ArrayInfo& array) {
  return array.chunk.empty() && array.coding.kind == Coding::kNone && array.order.empty();
}

class FileSource : public ArraySource {
 public:
  FileSource(OpenedFile file, ArrayInfo array, ArraySpec spec)
      : file_(std::move(file)), array_(std::move(array)), spec_(std::move(spec)) {}
  const ArraySpec& spec() const override { return spec_; }

 protected:
  Result<ChunkLocation> At(const std::vector<Piece>& pieces) const {
    ChunkLocation location;
    location.store = array_.external ? array_.external : file_.store;
    if (array_.external) {
      location.must_exist = true;
    } else {
      NDLFS_RETURN_IF_ERROR(CheckPieces(pieces));
      location.if_match = file_.info.generation;
    }
    for (const Piece& piece : pieces) location.pieces.push_back({piece.offset, piece.bytes});
    return location;
  }

  Result<void> CheckPieces(const std::vector<Piece>& pieces) const {
    for (const Piece& piece : pieces) {
      if (piece.offset > file_.info.size || piece.bytes > file_.info.size - piece.offset) {
        return model::Corrupt("{} bytes at {} end beyond the file, which has {}", piece.bytes,
                              piece.offset, file_.info.size);
      }
    }
    return {};
  }

  const OpenedFile file_;
  const ArrayInfo array_;
  const ArraySpec spec_;
};

// Elements one after the other, in one piece or, if the array has grown, in several. They are
// read in blocks that have nothing to do with those pieces.
class PlainSource final : public FileSource {
 public:
  using FileSource::FileSource;

  Result<ChunkLocation> Locate(std::span<const uint64_t> index, IndexCache&) const override {
    if (array_.pieces.empty()) return ChunkLocation::Absent();
    const uint64_t item = spec_.dtype.size();
    const uint64_t first =
        FirstElement(spec_.shape, spec_.grid.max_chunk_shape(), index) * item;
    const auto shape = spec_.grid.ChunkShape(index);
    return At(Part(array_.skipped_bytes + first, CheckedProduct(shape, item).value_or(0)));
  }

  std::optional<ContiguousRange> contiguous() const override {
    if (array_.pieces.size() != 1 || array_.external) return std::nullopt;
    const Piece& piece = array_.pieces[0];
    const auto bytes = CheckedProduct(spec_.shape, spec_.dtype.size());
    const auto end = bytes ? CheckedAdd(*bytes, array_.skipped_bytes) : std::nullopt;
    if (!end || piece.bytes < *end || !CheckPieces({piece})) return std::nullopt;
    ContiguousRange range;
    range.store = file_.store;
    range.offset = piece.offset + array_.skipped_bytes;
    range.stored = *TypeOf(array_.number_type);
    return range;
  }

 private:
  // `bytes` of what the pieces have together. Too few of them are found when they are read.
  std::vector<Piece> Part(uint64_t first, uint64_t bytes) const {
    std::vector<Piece> part;
    for (const Piece& piece : array_.pieces) {
      if (bytes == 0) break;
      if (first >= piece.bytes) {
        first -= piece.bytes;
        continue;
      }
      const uint64_t taken = std::min(piece.bytes - first, bytes);
      part.push_back({piece.offset + first, taken});
      bytes -= taken;
      first = 0;
    }
    // Not "absent", which a location without pieces would be.
    if (part.empty()) part.push_back({0, 0});
    return part;
  }
};

// The chunks of a grid, or one chunk that has all elements.
class ChunkedSource final : public FileSource, public StoredChunks {
 public:
  using FileSource::FileSource;

  Result<ChunkLocation> Locate(std::span<const uint64_t> index,
                               IndexCache& indexes) const override {
    if (array_.chunk.empty()) {
      return array_.pieces.empty() ? ChunkLocation::Absent() : At(array_.pieces);
    }
    uint64_t number = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      number = number * spec_.grid.counts()[d] + index[d];
    }
    const auto found =
        std::ranges::lower_bound(array_.chunks, number, {}, &StoredChunk::number);
    if (found == array_.chunks.end() || found->number != number) {
      return ChunkLocation::Absent();
    }
    const auto load = [&]() -> Result<std::shared_ptr<const Located>> {
      NDLFS_TRY(auto located, LocateChunk(found->element));
      return std::make_shared<const Located>(std::move(located));
    };
    NDLFS_TRY(const auto located, indexes.GetOrLoad<Located>(id(), number, load));
    return At(located->pieces);
  }

  Result<std::optional<std::vector<uint64_t>>> ListChunks(size_t most) const override {
    if (array_.chunk.empty()) {
      return std::vector<uint64_t>(array_.pieces.empty() ? 0 : 1, uint64_t{0});
    }
    if (array_.chunks.size() > most) return std::nullopt;
    std::vector<uint64_t> numbers;
    for (const StoredChunk& chunk : array_.chunks) numbers.push_back(chunk.number);
    return numbers;
  }

 private:
  // The description of a compressed chunk says again in what way it is encoded.
  Result<Located> LocateChunk(ElementId id) const {
    NDLFS_TRY(auto located, file_.elements->Locate(id));
    if (!located) return model::Corrupt("the file has no chunk {}", id.reference);
    if (located->coding.kind != array_.coding.kind || located->chunking) {
      return model::Unsupported("a chunk with coding {} in an array with coding {}",
                                located->coding.kind, array_.coding.kind);
    }
    if (!located->file.empty()) return model::Unsupported("a chunk in another file");
    return *std::move(located);
  }
};

// Every chunk once, and each in the grid.
Result<void> CheckChunks(const ArrayInfo& array, const ChunkGrid& grid) {
  const uint64_t count = CheckedProduct(grid.counts()).value_or(UINT64_MAX);
  for (size_t i = 0; i < array.chunks.size(); ++i) {
    const uint64_t number = array.chunks[i].number;
    if (number >= count) return model::Corrupt("there is a chunk outside of the array");
    if (i > 0 && array.chunks[i - 1].number >= number) {
      return model::Corrupt("chunk {} is there twice", number);
    }
  }
  return {};
}

Result<std::vector<uint64_t>> ChunkShapeOf(const ArrayInfo& array, uint64_t item,
                                           uint64_t max_chunk_size) {
  if (IsPlain(array)) return ContiguousBlockShape(array.shape, item, kBlockBytes);
  std::vector<uint64_t> chunk = array.chunk;
  if (chunk.empty()) {
    for (const uint64_t extent : array.shape) chunk.push_back(std::max<uint64_t>(extent, 1));
  }
  const auto bytes = CheckedProduct(chunk, item);
  if (!bytes || *bytes > max_chunk_size) {
    return model::Limit("chunks of more than {} bytes (--max-chunk-size)", max_chunk_size);
  }
  return chunk;
}

Result<CodecChain> MakeCodecs(const ArrayInfo& array, const model::Datatype& stored,
                              const ArraySpec& spec) {
  const ChunkForm form{spec.dtype, spec.grid.max_chunk_shape(), spec.fill};
  std::vector<std::shared_ptr<const ArrayToArrayCodec>> orders;
  if (!array.order.empty()) {
    const Json configuration = {{"order", array.order}};
    NDLFS_TRY(AnyCodec codec,
              MakeCodec({CodecDialect::kZarr3, "transpose", &configuration, &form}));
    orders.push_back(std::get<std::shared_ptr<const ArrayToArrayCodec>>(std::move(codec)));
  }
  NDLFS_TRY(auto bytes, MakeStoredBytes(stored));
  std::vector<std::shared_ptr<const BytesToBytesCodec>> decoders;
  if (array.coding.kind != Coding::kNone) {
    NDLFS_TRY(auto decoder, MakeDecoder(array.coding));
    decoders.push_back(std::move(decoder));
  }
  return CodecChain::Make(form, std::move(orders), std::move(bytes), std::move(decoders));
}

}  // namespace

Result<std::shared_ptr<const ArraySource>> MakeArraySource(const OpenedFile& file,
                                                           ArrayInfo array,
                                                           uint64_t max_chunk_size) {
  const auto stored = TypeOf(array.number_type);
  if (!stored) return model::Unsupported("numbers of type {}", array.number_type);
  if (!array.problem.empty()) return model::Unsupported("{}", model::OneLine(array.problem));
  ArraySpec spec;
  spec.dtype = stored->WithOrder(model::ByteOrder::kLittle);
  spec.shape = array.shape;
  const auto all = CheckedProduct(spec.shape, spec.dtype.size());
  if (!all || *all > kMaxViewSize) return model::Limit("an array of too many elements");
  NDLFS_TRY(auto chunk, ChunkShapeOf(array, spec.dtype.size(), max_chunk_size));
  if (array.fill.size() == spec.dtype.size()) {
    const auto* begin = reinterpret_cast<const std::byte*>(array.fill.data());
    spec.fill.assign(begin, begin + array.fill.size());
  }
  const auto edge = IsPlain(array) ? ChunkGrid::Edge::kCropped : ChunkGrid::Edge::kFull;
  NDLFS_TRY(spec.grid, ChunkGrid::Regular(spec.shape, std::move(chunk), edge));
  NDLFS_RETURN_IF_ERROR(CheckChunks(array, spec.grid));
  NDLFS_TRY(spec.codecs, MakeCodecs(array, *stored, spec));
  if (IsPlain(array)) {
    return std::make_shared<PlainSource>(file, std::move(array), std::move(spec));
  }
  return std::make_shared<ChunkedSource>(file, std::move(array), std::move(spec));
}

}  // namespace ndlfs::backends::hdf4
