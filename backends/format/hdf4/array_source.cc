// SPDX-License-Identifier: MIT
#include "backends/format/hdf4/array_source.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "backends/base/checked.h"
#include "backends/codec/registry.h"
#include "backends/format/block_shape.h"
#include "backends/format/hdf4/helper.h"
#include "backends/format/hdf4/number_type.h"
#include "backends/format/stored_chunks.h"

namespace ndlfs::backends::hdf4 {

using model::Result;

Result<Bytes> LibraryReader::Read(const BlockRequest& block,
                                  const std::vector<Piece>& pieces) const {
  const model::MutexLock lock(mutex_);
  auto added = skeleton_.Add(*store_, pieces);
  auto elements = added ? asker_.Ask(skeleton_, block)
                        : Result<Bytes>(model::Propagate(std::move(added).error()));
  skeleton_.Remove(pieces);
  return elements;
}

namespace {

constexpr uint64_t kDecodedByLibrary = uint64_t{256} << 20;

Result<void> CheckPieces(const std::vector<Piece>& pieces, uint64_t file_bytes) {
  for (const Piece& piece : pieces) {
    if (piece.offset > file_bytes || piece.bytes > file_bytes - piece.offset) {
      return model::Corrupt("{} bytes at {} end beyond the file, which has {}", piece.bytes,
                            piece.offset, file_bytes);
    }
  }
  return {};
}

// All pieces are in memory while the library decodes a chunk. No coding makes one much longer
// than it is.
Result<void> CheckEncoded(const std::vector<Piece>& pieces, uint64_t decoded_bytes) {
  constexpr uint64_t kTimes = 2, kMore = uint64_t{1} << 20;
  uint64_t bytes = 0;
  for (const Piece& piece : pieces) bytes += piece.bytes;
  if (bytes / kTimes <= decoded_bytes || bytes - kTimes * decoded_bytes <= kMore) return {};
  return model::Corrupt("{} encoded bytes for a chunk of {}", bytes, decoded_bytes);
}

class FileSource : public ArraySource {
 public:
  FileSource(OpenedFile file, ArrayInfo array, ArraySpec spec)
      : file_(std::move(file)), array_(std::move(array)), spec_(std::move(spec)) {}
  const ArraySpec& spec() const override { return spec_; }

 protected:
  Result<ChunkLocation> At(const std::vector<Piece>& pieces) const {
    NDLFS_RETURN_IF_ERROR(CheckPieces(pieces, file_.info.size));
    ChunkLocation location;
    location.store = file_.store;
    location.if_match = file_.info.generation;
    for (const Piece& piece : pieces) location.pieces.push_back({piece.offset, piece.bytes});
    return location;
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
    if (array_.chunks.empty()) return ChunkLocation::Absent();
    const uint64_t item = spec_.dtype.size();
    const uint64_t first =
        FirstElement(spec_.shape, spec_.grid.max_chunk_shape(), index) * item;
    const auto shape = spec_.grid.ChunkShape(index);
    return At(Part(first, CheckedProduct(shape, item).value_or(0)));
  }

  std::optional<ContiguousRange> contiguous() const override {
    if (array_.chunks.size() != 1 || array_.chunks[0].pieces.size() != 1) return std::nullopt;
    const Piece& piece = array_.chunks[0].pieces[0];
    const auto bytes = CheckedProduct(spec_.shape, spec_.dtype.size());
    if (!bytes || piece.bytes < *bytes || !CheckPieces({piece}, file_.info.size)) {
      return std::nullopt;
    }
    ContiguousRange range;
    range.store = file_.store;
    range.offset = piece.offset;
    range.stored = *TypeOf(array_.number_type);
    return range;
  }

 private:
  // `bytes` of what the pieces have together. Too few of them are found when they are read.
  std::vector<Piece> Part(uint64_t first, uint64_t bytes) const {
    std::vector<Piece> part;
    for (const Piece& piece : array_.chunks[0].pieces) {
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
    if (part.empty()) part.push_back({file_.info.size, 0});
    return part;
  }
};

// The chunks of a grid, or one chunk that has all elements.
class ChunkedSource final : public FileSource, public StoredChunks {
 public:
  using FileSource::FileSource;

  Result<ChunkLocation> Locate(std::span<const uint64_t> index,
                               IndexCache& indexes) const override {
    uint64_t number = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      number = number * spec_.grid.counts()[d] + index[d];
    }
    const auto found =
        std::ranges::lower_bound(array_.chunks, number, {}, &StoredChunk::number);
    if (found == array_.chunks.end() || found->number != number) {
      return ChunkLocation::Absent();
    }
    NDLFS_TRY(const auto pieces, PiecesOf(*found, indexes));
    if (array_.coding == ArrayInfo::Coding::kByLibrary) {
      return Generated(*found, pieces, index);
    }
    return At(pieces);
  }

  Result<std::optional<std::vector<uint64_t>>> ListChunks(size_t most) const override {
    if (array_.chunks.size() > most) return std::nullopt;
    std::vector<uint64_t> numbers;
    for (const StoredChunk& chunk : array_.chunks) numbers.push_back(chunk.number);
    return numbers;
  }

 private:
  Result<std::vector<Piece>> PiecesOf(const StoredChunk& chunk, IndexCache& indexes) const {
    if (chunk.header.bytes == 0) return chunk.pieces;
    NDLFS_RETURN_IF_ERROR(CheckPieces({chunk.header}, file_.info.size));
    if (file_.compressed == nullptr) return model::Internal("no list of compressed bytes");
    const auto load = [&]() -> Result<Bytes> {
      ReadOptions options;
      options.range = {chunk.header.offset, std::min(chunk.header.bytes, kChunkHeaderBytes)};
      options.if_match = file_.info.generation;
      NDLFS_TRY(auto header, file_.store->Get("", kChunkHeaderBytes, options));
      if (!header) return model::HasChanged("the file");
      return std::move(header->bytes);
    };
    NDLFS_TRY(const auto header, indexes.GetOrLoad(id(), chunk.number, load));
    NDLFS_TRY(const Piece piece,
              FindCompressed(header->span(), array_.coding, *file_.compressed));
    return std::vector<Piece>{piece};
  }

  Result<ChunkLocation> Generated(const StoredChunk& chunk, std::vector<Piece> pieces,
                                  std::span<const uint64_t> index) const {
    NDLFS_RETURN_IF_ERROR(CheckPieces(pieces, file_.info.size));
    const auto& whole = spec_.grid.max_chunk_shape();
    NDLFS_RETURN_IF_ERROR(CheckEncoded(
        pieces, CheckedProduct(whole, spec_.dtype.size()).value_or(UINT64_MAX / 4)));
    // The library needs it, too.
    if (chunk.header.bytes != 0) pieces.push_back(chunk.header);
    BlockRequest block;
    block.kind = array_.kind;
    block.index = array_.index;
    for (size_t d = 0; d < index.size(); ++d) {
      block.start.push_back(spec_.grid.Begin(d, index[d]));
    }
    block.count = spec_.grid.ChunkShape(index);
    block.bytes = CheckedProduct(block.count, spec_.dtype.size()).value_or(UINT64_MAX);
    ChunkLocation location;
    location.generate = [library = file_.library, pieces = std::move(pieces),
                         block = std::move(block)](uint64_t limit) -> Result<Bytes> {
      if (block.bytes > limit) return model::Limit("a chunk of {} bytes", block.bytes);
      return library->Read(block, pieces);
    };
    return location;
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
  const bool is_plain = array.chunk.empty() && array.coding == ArrayInfo::Coding::kNone;
  if (is_plain) return ContiguousBlockShape(array.shape, item, kBlockBytes);
  std::vector<uint64_t> chunk = array.chunk;
  if (chunk.empty()) {
    for (const uint64_t extent : array.shape) chunk.push_back(std::max<uint64_t>(extent, 1));
  }
  const auto bytes = CheckedProduct(chunk, item);
  const bool by_library = array.coding == ArrayInfo::Coding::kByLibrary;
  if (!bytes || *bytes > max_chunk_size) {
    return model::Limit("chunks of more than {} bytes (--max-chunk-size)", max_chunk_size);
  }
  if (by_library && *bytes > kDecodedByLibrary) {
    return model::Limit("chunks of {} bytes; libhdf4 decodes up to {}", *bytes,
                        kDecodedByLibrary);
  }
  return chunk;
}

Result<CodecChain> MakeCodecs(const ArrayInfo& array, const model::Datatype& stored,
                              const ArraySpec& spec) {
  const auto& chunk = spec.grid.max_chunk_shape();
  NDLFS_TRY(auto bytes, MakeStoredBytes(stored));
  std::vector<std::shared_ptr<const BytesToBytesCodec>> decoders;
  if (array.coding == ArrayInfo::Coding::kDeflate) {
    NDLFS_TRY(auto zlib, MakeBytesCodec("zlib"));
    decoders.push_back(std::move(zlib));
  }
  return CodecChain::Make({spec.dtype, chunk, spec.fill}, {}, std::move(bytes),
                          std::move(decoders));
}

}  // namespace

Result<std::shared_ptr<const ArraySource>> MakeArraySource(const OpenedFile& file,
                                                           ArrayInfo array,
                                                           uint64_t max_chunk_size) {
  const auto stored = TypeOf(array.number_type);
  if (!stored) return model::Unsupported("numbers of type {}", array.number_type);
  if (!array.problem.empty()) return model::Unsupported("{}", model::OneLine(array.problem));
  if (array.coding == ArrayInfo::Coding::kByLibrary && file.library == nullptr) {
    return model::Internal("nobody to decode it");
  }
  const bool is_regular = array.chunk.empty() || array.chunk.size() == array.shape.size();
  if (!is_regular || (array.chunk.empty() && array.chunks.size() > 1)) {
    return model::Corrupt("chunks of {} dimensions", array.chunk.size());
  }
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
  const bool is_plain = array.chunk.empty() && array.coding == ArrayInfo::Coding::kNone;
  const bool by_library = array.coding == ArrayInfo::Coding::kByLibrary;
  const auto edge = is_plain || by_library ? ChunkGrid::Edge::kCropped : ChunkGrid::Edge::kFull;
  NDLFS_TRY(spec.grid, ChunkGrid::Regular(spec.shape, std::move(chunk), edge));
  NDLFS_RETURN_IF_ERROR(CheckChunks(array, spec.grid));
  NDLFS_TRY(spec.codecs, MakeCodecs(array, *stored, spec));
  if (is_plain) {
    return std::make_shared<PlainSource>(file, std::move(array), std::move(spec));
  }
  return std::make_shared<ChunkedSource>(file, std::move(array), std::move(spec));
}

}  // namespace ndlfs::backends::hdf4
