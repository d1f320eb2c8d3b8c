// SPDX-License-Identifier: MIT
#include "cache/chunk_loader.h"

#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "backends/base/element_stream.h"
#include "backends/codec/codec_chain.h"

namespace ndlfs::cache {

using backends::ArraySpec;
using backends::ByteRange;
using backends::Bytes;
using backends::ByteSpan;
using backends::ChunkLocation;
using backends::ConstByteSpan;
using model::Corrupt;
using model::Result;

namespace {

// What a thread keeps from one chunk to the next; more is given back, so that
// threads at rest hold little.
constexpr size_t kKeptPerThread = size_t{512} << 10;

struct ThreadBuffers {
  Bytes encoded;
  backends::Scratch scratch;

  ByteSpan Encoded(size_t size) {
    if (encoded.size() < size) encoded = Bytes(size);
    return encoded.span().first(size);
  }
  void Trim() {
    if (encoded.size() > kKeptPerThread) encoded = Bytes();
    scratch.Trim(kKeptPerThread);
  }
};

ThreadBuffers& Buffers() {
  thread_local ThreadBuffers buffers;
  return buffers;
}

// One chunk on its way from the store to its decoded form.
class Loading {
 public:
  // `ledger` (may be null) and `limit`: see LoadChunk.
  Loading(const ArraySpec& spec, std::vector<uint64_t> shape, const ChunkLocation& location,
          ChunkLedger* ledger, uint64_t limit)
      : spec_(spec),
        shape_(std::move(shape)),
        location_(location),
        ledger_(ledger),
        limit_(limit) {
    elements_ = 1;
    for (const uint64_t extent : shape_) elements_ *= extent;
    decoded_size_ = DecodedSize(spec_, shape_);
  }

  Result<Bytes> Run() {
    if (location_.absent()) return Bytes();
    if (!location_.generate && !location_.inline_bytes) return FromStore();
    if (location_.store) NDLFS_RETURN_IF_ERROR(NoteVersion());
    if (location_.generate) return Generated();
    return Decode(location_.inline_bytes->span());
  }

  // Bytes that the pieces make up, checked against what the value holds and
  // what a chunk can be encoded to at most.
  Result<uint64_t> EncodedSize(uint64_t available) const {
    uint64_t total = 0;
    for (const ByteRange& piece : location_.pieces) {
      if (piece.offset > available) return Beyond(piece, available);
      const uint64_t rest = available - piece.offset;
      if (piece.length != ByteRange::kToEnd && piece.length > rest) {
        return Beyond(piece, available);
      }
      total += std::min(piece.length, rest);  // below 2^63: files are
    }
    if (!fixed() && total > limit_) {
      return model::Limit("{} encoded bytes, --max-chunk-size is {}", total, limit_);
    }
    if (const uint64_t most = spec_.codecs.MaxEncodedSize(shape_); fixed() && total > most) {
      return Corrupt("{} encoded bytes, more than the {} of any sound chunk", total, most);
    }
    return total;
  }

  const std::vector<uint64_t>& shape() const { return shape_; }
  uint64_t decoded_size() const { return decoded_size_; }

  // Of a chunk that is not encoded, in a value of `available` bytes.
  Result<void> CheckSize(uint64_t available) const {
    NDLFS_TRY(const uint64_t size, EncodedSize(available));
    if (size == decoded_size_) return {};
    return Corrupt("{} bytes, expected {}", size, decoded_size_);
  }

 private:
  bool fixed() const { return spec_.dtype.is_fixed_size(); }

  Result<Bytes> Generated() {
    NDLFS_TRY(Bytes chunk, location_.generate(limit_));
    if (!fixed()) return Checked(std::move(chunk));
    if (chunk.size() != decoded_size_) {
      return Corrupt("{} bytes instead of {}", chunk.size(), decoded_size_);
    }
    return chunk;
  }

  Result<void> NoteVersion() const {
    return ledger_ ? ledger_->Note(location_.store, location_.key) : Result<void>();
  }

  // Whether the bytes of the value are the chunk as decoded.
  bool IsPlain() const {
    return fixed() && location_.skip_codecs == 0 && spec_.codecs.IsIdentity();
  }

  Result<Bytes> FromStore() {
    if (location_.pieces.size() == 1) return FromOnePiece();
    NDLFS_RETURN_IF_ERROR(NoteVersion());
    if (location_.pieces.empty()) return Bytes();
    NDLFS_TRY(const auto available, location_.store->Size(location_.key));
    if (!available) return Bytes();
    Bytes chunk;
    NDLFS_TRY(const ByteSpan bytes, Reserve(*available, chunk));
    NDLFS_RETURN_IF_ERROR(Fetch(bytes));
    return IsPlain() ? std::move(chunk) : Decode(bytes);
  }

  // Memory for the bytes in a value of `available` bytes: `chunk` where they are
  // the chunk as decoded, and else what this thread keeps for encoded ones.
  Result<ByteSpan> Reserve(uint64_t available, Bytes& chunk) const {
    if (!IsPlain()) {
      NDLFS_TRY(const uint64_t size, EncodedSize(available));
      return Buffers().Encoded(size);
    }
    NDLFS_RETURN_IF_ERROR(CheckSize(available));
    chunk = Bytes(decoded_size_);
    return chunk.span();
  }

  // By one question to the store.
  Result<Bytes> FromOnePiece() {
    Bytes chunk;
    ByteSpan bytes;
    const auto reserve = [&](uint64_t available) -> Result<ByteSpan> {
      NDLFS_TRY(bytes, Reserve(available, chunk));
      return bytes;
    };
    NDLFS_TRY(const auto read,
              location_.store->ReadOnce(location_.key, location_.pieces[0].offset, reserve));
    if (ledger_) {
      NDLFS_RETURN_IF_ERROR(ledger_->NoteRead(
          location_.store, location_.key, read ? std::optional(read->version) : std::nullopt));
    }
    if (!read) return Bytes();
    if (read->count != bytes.size()) return CutShort();
    return IsPlain() ? std::move(chunk) : Decode(bytes);
  }

  static model::Failure CutShort() { return Corrupt("it was cut short while being read"); }

  static model::Failure Beyond(const ByteRange& piece, uint64_t available) {
    return Corrupt("bytes {} + {} lie beyond the end at {}", piece.offset, piece.length,
                   available);
  }

  Result<void> Fetch(ByteSpan out) const {
    for (const ByteRange& piece : location_.pieces) {
      const size_t length = std::min<uint64_t>(piece.length, out.size());
      NDLFS_TRY(const auto got,
                location_.store->ReadInto(location_.key, piece.offset, out.first(length)));
      if (!got || *got != length) return CutShort();
      out = out.subspan(length);
    }
    return {};
  }

  Result<Bytes> Decode(ConstByteSpan encoded) {
    if (!fixed()) {
      NDLFS_TRY(Bytes stream,
                spec_.codecs.DecodeVariable(encoded, shape_, limit_, Buffers().scratch,
                                            location_.skip_codecs));
      return Checked(std::move(stream));
    }
    Bytes chunk(decoded_size_);
    NDLFS_RETURN_IF_ERROR(spec_.codecs.Decode(encoded, shape_, chunk.span(), Buffers().scratch,
                                              location_.skip_codecs));
    return chunk;
  }

  Result<Bytes> Checked(Bytes stream) const {
    NDLFS_RETURN_IF_ERROR(backends::ElementTable::Make(stream.span(), elements_));
    return stream;
  }

  const ArraySpec& spec_;
  const std::vector<uint64_t> shape_;
  const ChunkLocation& location_;
  ChunkLedger* const ledger_;
  const uint64_t limit_;
  uint64_t elements_;
  uint64_t decoded_size_;
};

// Notes in the ledger, if there is one, what chunks are located by.
class NotingIndexCache final : public backends::IndexCache {
 public:
  NotingIndexCache(backends::IndexCache& cache, ChunkLedger* ledger)
      : cache_(cache), ledger_(ledger) {}

  Result<std::shared_ptr<const Bytes>> GetOrLoad(
      uint64_t id, uint64_t slot, const std::function<Result<Bytes>()>& load) override {
    return cache_.GetOrLoad(id, slot, load);
  }
  Result<void> WillRead(const std::shared_ptr<const backends::Store>& store,
                        const std::string& key) override {
    if (!ledger_) return {};
    return ledger_->Note(store, key);
  }

 private:
  backends::IndexCache& cache_;
  ChunkLedger* const ledger_;
};

// A chunk that is one piece of a value, `size` bytes of it.
class Piece final : public backends::EncodedChunk {
 public:
  Piece(const ChunkLocation& location, uint64_t size) : location_(location), size_(size) {}

  uint64_t size() const override { return size_; }
  Result<void> Read(uint64_t offset, ByteSpan out) const override {
    const uint64_t begin = location_.pieces[0].offset + offset;
    NDLFS_TRY(const auto got, location_.store->ReadInto(location_.key, begin, out));
    if (got.value_or(0) != out.size()) return Corrupt("it was cut short while being read");
    return {};
  }

 private:
  const ChunkLocation& location_;
  const uint64_t size_;
};

// Calls `use` for a chunk that is one piece of a value that can be read in
// parts, with how much that value has; the files are noted as LoadChunk does.
// False, and `use` is not called, for other chunks and those that are absent.
using UsePiece =
    std::function<Result<void>(const ChunkLocation&, const Loading&, uint64_t available)>;
Result<bool> WithPiece(const backends::ArraySource& source, std::span<const uint64_t> index,
                       backends::IndexCache& indexes, ChunkLedger* ledger,
                       const UsePiece& use) {
  NotingIndexCache noting(indexes, ledger);
  NDLFS_TRY(const ChunkLocation location, source.Locate(index, noting));
  const bool one_piece = location.store && location.store->ReadsInParts() &&
                         location.pieces.size() == 1 && location.skip_codecs == 0 &&
                         !location.inline_bytes && !location.generate;
  if (!one_piece) return false;
  const auto where = [&] { return location.store->Describe(location.key); };
  NDLFS_RETURN_IF_ERROR(noting.WillRead(location.store, location.key));
  NDLFS_TRY(const auto available, location.store->Size(location.key), where());
  if (!available) return false;
  const Loading loading(source.spec(), source.spec().grid.ChunkShape(index), location, ledger,
                        source.spec().max_chunk_bytes);
  const Result<void> status = use(location, loading, *available);
  // What was read while it changed is neither damaged nor one version.
  NDLFS_RETURN_IF_ERROR(noting.WillRead(location.store, location.key));
  NDLFS_RETURN_IF_ERROR(status, where());
  return true;
}

}  // namespace

uint64_t DecodedSize(const ArraySpec& spec, std::span<const uint64_t> shape) {
  uint64_t size = spec.dtype.size();
  for (const uint64_t extent : shape) size *= extent;
  return size;
}

uint64_t TransientSize(const ArraySpec& spec, const std::vector<uint64_t>& shape) {
  return spec.codecs.IsIdentity() ? 0 : spec.codecs.MaxEncodedSize(shape);
}

uint64_t VariableSize(uint64_t limit) {
  // Encoded, between two filters (before and after one), and decoded.
  return backends::CheckedMultiply(limit, 4).value_or(UINT64_MAX);
}

Result<Bytes> LoadChunk(const backends::ArraySource& source, std::span<const uint64_t> index,
                        backends::IndexCache& indexes, ChunkLedger* ledger, uint64_t limit) {
  NotingIndexCache noting(indexes, ledger);
  NDLFS_TRY(const ChunkLocation location, source.Locate(index, noting));
  Result<Bytes> chunk =
      Loading(source.spec(), source.spec().grid.ChunkShape(index), location, ledger, limit)
          .Run();
  Buffers().Trim();
  if (!chunk && location.store) {
    // What was read while it changed is not damaged.
    NDLFS_RETURN_IF_ERROR(noting.WillRead(location.store, location.key));
    return model::Propagate(std::move(chunk).error(), location.store->Describe(location.key));
  }
  return chunk;
}

bool MayReadInPlace(const ArraySpec& spec) {
  // Below this, what a look at the file takes is more than what is saved.
  constexpr uint64_t kSmallChunk = uint64_t{128} << 10;
  return spec.dtype.is_fixed_size() && spec.codecs.IsIdentity() &&
         DecodedSize(spec, spec.grid.max_chunk_shape()) >= kSmallChunk;
}

Result<bool> ReadInPlace(const backends::ArraySource& source, std::span<const uint64_t> index,
                         backends::IndexCache& indexes, ChunkLedger* ledger,
                         const std::function<void(const ReadChunkAt&)>& read) {
  return WithPiece(
      source, index, indexes, ledger,
      [&](const ChunkLocation& location, const Loading& loading, uint64_t available) {
        Result<void> status = loading.CheckSize(available);
        if (!status) return status;
        const Piece piece(location, loading.decoded_size());
        read([&](uint64_t offset, ByteSpan out) {
          status = piece.Read(offset, out);
          return status.has_value();
        });
        return status;
      });
}

bool MayLoadParts(const ArraySpec& spec) {
  return spec.dtype.is_fixed_size() && spec.codecs.DecodesRanges();
}

uint64_t PartTransientSize(uint64_t max_block) { return backends::RangeMemory(max_block); }

Result<std::optional<uint64_t>> FindBlockSize(const backends::ArraySource& source,
                                              std::span<const uint64_t> index,
                                              backends::IndexCache& indexes,
                                              ChunkLedger* ledger) {
  std::optional<uint64_t> block_size;
  NDLFS_RETURN_IF_ERROR(WithPiece(
      source, index, indexes, ledger,
      [&](const ChunkLocation& location, const Loading& loading,
          uint64_t available) -> Result<void> {
        NDLFS_TRY(const uint64_t size, loading.EncodedSize(available));
        NDLFS_TRY(block_size,
                  source.spec().codecs.BlockSize(Piece(location, size), loading.shape()));
        return {};
      }));
  return block_size;
}

Result<Bytes> LoadPart(const backends::ArraySource& source, std::span<const uint64_t> index,
                       backends::IndexCache& indexes, ChunkLedger* ledger, uint64_t offset,
                       uint64_t size, uint64_t max_block) {
  Bytes part(size);
  const auto decode = [&](const ChunkLocation& location, const Loading& loading,
                          uint64_t available) -> Result<void> {
    NDLFS_TRY(const uint64_t encoded, loading.EncodedSize(available));
    return source.spec().codecs.DecodeRange(Piece(location, encoded), loading.shape(), offset,
                                            max_block, part.span());
  };
  NDLFS_TRY(const bool found, WithPiece(source, index, indexes, ledger, decode));
  if (!found) return model::Internal("there is nothing to decode in parts");
  return part;
}

}  // namespace ndlfs::cache
