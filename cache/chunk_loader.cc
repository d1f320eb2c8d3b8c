// SPDX-License-Identifier: MIT
#include "cache/chunk_loader.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "backends/base/element_stream.h"
#include "backends/codec/codec_chain.h"
#include "backends/format/chunk_pieces.h"
#include "backends/store/kept_values.h"
#include "model/memory_budget.h"

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

// How much memory a thread keeps from one chunk to the next; it gives more than this back, so
// that threads at rest hold little. However many threads fetch, together they keep no more than
// as many as the decoders would.
size_t KeptPerThread(const LoadPace* pace) {
  constexpr size_t kKept = size_t{512} << 10;
  return pace == nullptr ? kKept : kKept * pace->decoders() / pace->width();
}

struct ThreadBuffers {
  Bytes encoded;
  backends::Scratch scratch;

  ByteSpan Encoded(size_t size) {
    if (encoded.size() < size) encoded = Bytes(size);
    return encoded.span().first(size);
  }
  void Trim(size_t kept) {
    if (encoded.size() > kept) encoded = Bytes();
    scratch.Trim(kept);
  }
};

ThreadBuffers& Buffers() {
  thread_local ThreadBuffers buffers;
  return buffers;
}

// The version that a read of the value has to find: the one that the location was found in, or
// the one that was read before.
ChunkLedger::Expected Expect(const ChunkLocation& location, const ChunkLedger* ledger) {
  ChunkLedger::Expected expected;
  if (ledger && !location.never_changes)
    expected = ledger->Expect(location.store, location.key);
  if (location.if_match) expected.version = location.if_match;
  return expected;
}

// `looks` as they were expected before the read.
Result<void> NoteRead(const ChunkLocation& location, ChunkLedger* ledger,
                      const std::optional<backends::ReadResult>& read, uint64_t looks) {
  if (!ledger || location.never_changes) return {};
  return ledger->NoteRead(location.store, location.key,
                          read ? std::optional(read->info) : std::nullopt, looks);
}

// Looks whether what could not be read or decoded has changed meanwhile: then it is
// not damaged.
Result<void> NoteFailed(const ChunkLocation& location, ChunkLedger* ledger) {
  if (!ledger || location.never_changes) return {};
  return ledger->Note(location.store, location.key);
}

// One chunk on its way from the store to its decoded form.
class Loading {
 public:
  // `limit`: see LoadChunk. `fetch` has begun, and ends before anything is decoded.
  Loading(const ArraySpec& spec, std::vector<uint64_t> shape, const ChunkLocation& location,
          const LoadContext& context, LoadPace::Fetch& fetch, uint64_t limit)
      : spec_(spec),
        shape_(std::move(shape)),
        location_(location),
        ledger_(context.ledger),
        pace_(context.pace),
        decode_times_(context.decode_times),
        needs_only_(context.needs_only),
        fetch_(fetch),
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
    NDLFS_TRY(const uint64_t total, backends::SizeOfPieces(location_.pieces, available));
    if (!fixed() && total > limit_) {
      return model::Limit("{} encoded bytes, --max-chunk-size is {}", total, limit_);
    }
    if (fixed()) {
      NDLFS_RETURN_IF_ERROR(
          backends::CheckEncodedSize(total, spec_.codecs.MaxEncodedSize(shape_)));
    }
    return total;
  }

  const std::vector<uint64_t>& shape() const { return shape_; }
  uint64_t decoded_size() const { return decoded_size_; }

  // Checks a chunk that is not encoded, in a value of `available` bytes.
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
    if (ledger_ == nullptr || location_.never_changes) return {};
    return ledger_->Note(location_.store, location_.key);
  }

  // Whether the bytes of the value are the chunk as decoded.
  bool IsPlain() const {
    return fixed() && location_.skip_codecs == 0 && spec_.codecs.IsIdentity();
  }

  // By one question to the store, or one for each piece. All are answered from one
  // version of the value.
  Result<Bytes> FromStore() {
    if (location_.pieces.empty()) return Empty();
    if (location_.pieces.size() > 1 && location_.store->traits().is_remote) {
      NDLFS_TRY(auto chunk, FromServer());
      if (chunk) return *std::move(chunk);
    }
    Bytes chunk;
    ByteSpan bytes;
    auto [version, looks] = Expect(location_, ledger_);
    const std::function<void()> take_turn = [&] { TakeTurn(decoded_size_); };
    const bool is_one_piece = fixed() && location_.pieces.size() == 1;
    const auto reserve = [&](uint64_t available) -> Result<ByteSpan> {
      NDLFS_TRY(bytes, Reserve(available, chunk));
      return bytes;
    };
    const auto note = [this, looks = looks](const std::optional<backends::ReadResult>& read) {
      return NoteRead(location_, ledger_, read, looks);
    };
    NDLFS_TRY(const bool is_stored,
              backends::ReadPieces(location_, {.version = version,
                                               .at_hand = is_one_piece ? &take_turn : nullptr,
                                               .reserve = reserve,
                                               .did_read = note}));
    if (!is_stored) return Bytes();
    return IsPlain() ? std::move(chunk) : Decode(bytes);
  }

  // All pieces at once, from a store where each of them would be a request. nullopt if
  // something is not as it should be: reading one piece after the other then tells what.
  Result<std::optional<Bytes>> FromServer() {
    const auto [version, looks] = Expect(location_, ledger_);
    const uint64_t most = fixed() ? spec_.codecs.MaxEncodedSize(shape_) : limit_;
    std::vector<backends::ReadRequest> requests;
    uint64_t total = 0;
    for (const ByteRange& piece : location_.pieces) {
      if (piece.length > most - total) return std::nullopt;
      total += piece.length;
      requests.push_back(
          {location_.key,
           {.range = piece, .if_match = version, .never_changes = location_.never_changes},
           piece.length});
    }
    auto answers = location_.store->ReadMany(requests);
    for (size_t i = 0; i < answers.size(); ++i) {
      if (!answers[i] && answers[i].error().is_transient()) {
        return model::Propagate(answers[i].error());
      }
      if (!answers[i] || !*answers[i]) return std::nullopt;
      if ((*answers[i])->bytes.size() != location_.pieces[i].length) return std::nullopt;
    }
    const backends::ValueInfo info = (*answers.front())->info;
    Bytes chunk;
    constexpr uint64_t kCopies = 2;  // in the answers, and side by side
    NDLFS_TRY(const ByteSpan bytes, Reserve(info.size, chunk, kCopies));
    const auto noted = std::optional(backends::ReadResult{bytes.size(), info});
    NDLFS_RETURN_IF_ERROR(NoteRead(location_, ledger_, noted, looks));
    std::byte* out = bytes.data();
    for (const auto& answer : answers) {
      const auto piece = (*answer)->bytes.span();
      out = std::copy(piece.begin(), piece.end(), out);
    }
    answers.clear();
    if (!IsPlain()) return Decode(bytes);
    return chunk;
  }

  // Nothing is stored of the chunk, says a version of the value, or that there is none.
  Result<Bytes> Empty() const {
    std::optional<backends::ValueInfo> found;
    if (location_.if_match) found = {.generation = *location_.if_match};
    if (ledger_ && !location_.never_changes) {
      NDLFS_RETURN_IF_ERROR(ledger_->NoteRead(location_.store, location_.key, found));
    }
    return Bytes();
  }

  // Memory for the bytes of a value of `available` bytes. If the bytes are the decoded chunk,
  // this is `chunk`; otherwise the memory that this thread keeps for encoded bytes, of which
  // `copies` are in memory at once.
  Result<ByteSpan> Reserve(uint64_t available, Bytes& chunk, uint64_t copies = 1) const {
    if (!IsPlain()) {
      NDLFS_TRY(const uint64_t size, EncodedSize(available));
      if (needs_only_ && fixed()) {
        (*needs_only_)(copies * size + spec_.codecs.MaxScratchSize(shape_));
      }
      return Buffers().Encoded(size);
    }
    NDLFS_RETURN_IF_ERROR(CheckSize(available));
    chunk = Bytes(decoded_size_);
    return chunk.span();
  }

  // Until the chunk is decoded.
  void TakeTurn(uint64_t bytes) {
    fetch_.End();
    if (!turn_) turn_.emplace(pace_, bytes);
  }

  Result<Bytes> Decode(ConstByteSpan encoded) {
    TakeTurn(fixed() ? decoded_size_ : encoded.size());
    if (!fixed()) {
      NDLFS_TRY(Bytes stream,
                spec_.codecs.DecodeVariable(encoded, shape_, limit_, Buffers().scratch,
                                            location_.skip_codecs, decode_times_));
      return Checked(std::move(stream));
    }
    Bytes chunk(decoded_size_);
    NDLFS_RETURN_IF_ERROR(spec_.codecs.Decode(encoded, shape_, chunk.span(), Buffers().scratch,
                                              location_.skip_codecs, decode_times_));
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
  LoadPace* const pace_;
  backends::DecodeTimes* const decode_times_;
  const std::function<void(uint64_t)>* const needs_only_;
  LoadPace::Fetch& fetch_;
  std::optional<LoadPace::Decoding> turn_;
  const uint64_t limit_;
  uint64_t elements_;
  uint64_t decoded_size_;
};

// Notes in the ledger, if there is one, the files by which chunks are located.
class NotingIndexCache final : public backends::IndexCache {
 public:
  NotingIndexCache(backends::IndexCache& cache, ChunkLedger* ledger)
      : cache_(cache), ledger_(ledger) {}

  Result<std::shared_ptr<const void>> GetOrLoadWeighed(
      uint64_t id, uint64_t slot, const std::function<Result<Weighed>()>& load) override {
    return cache_.GetOrLoadWeighed(id, slot, load);
  }
  Result<void> DidRead(const std::shared_ptr<const backends::Store>& store,
                       const std::string& key,
                       const std::optional<backends::ValueInfo>& found) override {
    if (!ledger_) return {};
    return ledger_->NoteRead(store, key, found);
  }

 private:
  backends::IndexCache& cache_;
  ChunkLedger* const ledger_;
};

// A chunk that is one piece of a value, which is read in parts, all of one version.
class Piece final : public backends::EncodedChunk {
 public:
  // `check` is asked once whether the chunk can be in a value of so many bytes,
  // before any of them is read.
  using Check = std::function<Result<void>(uint64_t available)>;
  Piece(const ChunkLocation& location, const LoadContext& context, Check check)
      : location_(location),
        ledger_(context.ledger),
        pace_(context.pace),
        check_(std::move(check)) {
    const auto expected = Expect(location, ledger_);
    version_ = expected.version;
    looks_ = expected.looks;
  }

  // Reads the beginning of the chunk, from which codecs learn where its parts are.
  // False where there is no value.
  Result<bool> ReadHead() {
    constexpr size_t kUsualHead = 1024;
    head_ = Bytes(kUsualHead);
    NDLFS_TRY(const auto count, ReadFrom(0, head_.span()));
    head_.Shrink(count.value_or(0));
    return count.has_value();
  }

  // After a read.
  bool is_absent() const { return is_absent_; }
  uint64_t size() const override { return size_; }

  Result<void> Read(uint64_t offset, ByteSpan out) const override {
    if (offset + out.size() <= head_.size()) {
      std::copy_n(head_.data() + offset, out.size(), out.data());
      return {};
    }
    NDLFS_TRY(const auto count, ReadFrom(offset, out));
    if (count.value_or(0) != out.size()) return backends::CutShort();
    return {};
  }

 private:
  // Returns how many bytes there were; nullopt where there is no value.
  Result<std::optional<size_t>> ReadFrom(uint64_t offset, ByteSpan out) const {
    const ByteRange& whole = location_.pieces[0];
    if (offset > whole.length) return backends::CutShort();
    const ByteRange part = {whole.offset + offset,
                            std::min<uint64_t>(out.size(), whole.length - offset)};
    const auto reserve = [&](uint64_t available) -> Result<ByteSpan> {
      if (!checked_) NDLFS_RETURN_IF_ERROR(check_(available));
      size_ = std::min(whole.length, available - std::min(available, whole.offset));
      return out;
    };
    LoadPace::Fetch fetch(pace_);
    NDLFS_TRY(const auto read, location_.store->Read(location_.key,
                                                     {.range = part,
                                                      .if_match = version_,
                                                      .never_changes = location_.never_changes},
                                                     reserve));
    fetch.End();
    if (!checked_) NDLFS_RETURN_IF_ERROR(NoteRead(location_, ledger_, read, looks_));
    if (!read && location_.must_exist) return backends::LostChunk();
    is_absent_ = !read;
    if (!read) return std::nullopt;
    checked_ = true;
    version_ = read->info.generation;
    return read->count;
  }

  const ChunkLocation& location_;
  ChunkLedger* const ledger_;
  LoadPace* const pace_;
  const Check check_;
  uint64_t looks_ = 0;  // of the ledger, before the first read
  Bytes head_;
  // What the first read found out about the value.
  mutable bool checked_ = false;
  mutable bool is_absent_ = false;
  mutable uint64_t size_ = 0;
  mutable std::optional<backends::Generation> version_;
};

// Calls `use` for a chunk that is one piece of a value that can be read in
// parts; what it reads is noted as LoadChunk does. `use` returns whether the chunk
// is there. False, also without a call of `use`, for other chunks and those that are
// absent.
using UsePiece = std::function<Result<bool>(const ChunkLocation&, const Loading&)>;
Result<bool> WithPiece(const backends::ArraySource& source, std::span<const uint64_t> index,
                       const LoadContext& context, const UsePiece& use) {
  NotingIndexCache noting(context.indexes, context.ledger);
  LoadPace::Fetch fetch(context.pace);
  NDLFS_TRY(const ChunkLocation location, source.Locate(index, noting));
  fetch.End();
  const bool one_piece = location.store && location.store->traits().reads_in_parts &&
                         location.pieces.size() == 1 && location.skip_codecs == 0 &&
                         !location.inline_bytes && !location.generate;
  if (!one_piece) return false;
  const Loading loading(source.spec(), source.spec().grid.ChunkShape(index), location, context,
                        fetch, source.spec().max_chunk_bytes);
  Result<bool> found = use(location, loading);
  if (found) return found;
  NDLFS_RETURN_IF_ERROR(NoteFailed(location, context.ledger));
  return model::Propagate(std::move(found).error(), location.store->Describe(location.key));
}

// The same for a codec that decodes parts of a chunk.
using UseEncoded = std::function<Result<void>(const Piece&, const Loading&)>;
Result<bool> WithEncoded(const backends::ArraySource& source, std::span<const uint64_t> index,
                         const LoadContext& context, const UseEncoded& use) {
  return WithPiece(source, index, context,
                   [&](const ChunkLocation& location, const Loading& loading) -> Result<bool> {
                     Piece piece(location, context, [&](uint64_t available) {
                       return loading.EncodedSize(available).map([](uint64_t) {});
                     });
                     NDLFS_TRY(const bool is_there, piece.ReadHead());
                     if (is_there) NDLFS_RETURN_IF_ERROR(use(piece, loading));
                     return is_there;
                   });
}

}  // namespace

uint64_t DecodedSize(const ArraySpec& spec, std::span<const uint64_t> shape) {
  uint64_t size = spec.dtype.size();
  for (const uint64_t extent : shape) size *= extent;
  return size;
}

uint64_t MaxDecodedSize(const ArraySpec& spec) {
  return DecodedSize(spec, spec.grid.max_chunk_shape());
}

uint64_t TransientSize(const ArraySpec& spec, const std::vector<uint64_t>& shape) {
  if (spec.codecs.IsIdentity()) return 0;
  return spec.codecs.MaxEncodedSize(shape) + spec.codecs.MaxScratchSize(shape);
}

Result<void> CheckFits(const ArraySpec& spec, const std::vector<uint64_t>& shape) {
  const uint64_t scratch = spec.codecs.IsIdentity() ? 0 : spec.codecs.MaxScratchSize(shape);
  const auto bytes = backends::CheckedAdd(DecodedSize(spec, shape), scratch);
  return model::MemoryBudget::CheckChunk(bytes.value_or(UINT64_MAX));
}

uint64_t VariableSize(uint64_t limit) {
  // Encoded, between two filters (before and after one), and decoded.
  return backends::CheckedMultiply(limit, 4).value_or(UINT64_MAX);
}

Result<Bytes> LoadChunk(const backends::ArraySource& source, std::span<const uint64_t> index,
                        const LoadContext& context, uint64_t limit) {
  NotingIndexCache noting(context.indexes, context.ledger);
  LoadPace::Fetch fetch(context.pace);
  NDLFS_TRY(const ChunkLocation location, source.Locate(index, noting));
  Result<Bytes> chunk = Loading(source.spec(), source.spec().grid.ChunkShape(index), location,
                                context, fetch, limit)
                            .Run();
  Buffers().Trim(KeptPerThread(context.pace));
  if (!chunk && location.store) {
    NDLFS_RETURN_IF_ERROR(NoteFailed(location, context.ledger));
    return model::Propagate(std::move(chunk).error(), location.store->Describe(location.key));
  }
  return chunk;
}

bool IsKept(const backends::ArraySource& source, std::span<const uint64_t> index,
            const LoadContext& context) {
  NotingIndexCache noting(context.indexes, context.ledger);
  const auto location = source.Locate(index, noting);
  return location && location->store && !location->pieces.empty() &&
         backends::IsKept(*location->store, location->key, location->pieces.front());
}

Result<bool> IsStored(const backends::ArraySource& source, std::span<const uint64_t> index,
                      const LoadContext& context) {
  NotingIndexCache noting(context.indexes, context.ledger);
  NDLFS_TRY(const ChunkLocation location, source.Locate(index, noting));
  if (location.absent()) return false;
  if (location.inline_bytes || location.generate) return true;
  if (location.pieces.empty()) return false;
  // An index has told that the value is there.
  const bool is_whole = location.pieces.front().length == backends::ByteRange::kToEnd;
  if (location.must_exist || location.if_match || !is_whole) return true;
  NDLFS_TRY(const auto info, location.store->Stat(location.key));
  return info.has_value();
}

Result<std::optional<uint64_t>> StoredSize(const backends::ArraySource& source,
                                           std::span<const uint64_t> index,
                                           const LoadContext& context) {
  NotingIndexCache noting(context.indexes, context.ledger);
  NDLFS_TRY(const ChunkLocation location, source.Locate(index, noting));
  if (location.absent()) return uint64_t{0};
  if (location.inline_bytes) return location.inline_bytes->size();
  if (location.generate && location.pieces.empty()) return std::nullopt;
  uint64_t total = 0;
  std::optional<uint64_t> available;
  for (const ByteRange& piece : location.pieces) {
    uint64_t length = piece.length;
    if (length == ByteRange::kToEnd) {
      if (!available) {
        NDLFS_TRY(const auto info, location.store->Stat(location.key));
        available = info ? info->size : 0;
      }
      length = *available - std::min(*available, piece.offset);
    }
    total = backends::CheckedAdd(total, length).value_or(UINT64_MAX);
  }
  return total;
}

Result<StoredBytes> FindStored(const backends::ArraySource& source,
                               std::span<const uint64_t> index, const LoadContext& context) {
  NotingIndexCache noting(context.indexes, context.ledger);
  StoredBytes stored;
  NDLFS_TRY(stored.location, source.Locate(index, noting));
  const ChunkLocation& location = stored.location;
  if (location.absent()) return stored;
  stored.kind = StoredBytes::Kind::kOther;
  if (location.generate || location.skip_codecs != 0) return stored;
  if (location.inline_bytes) {
    stored.size = location.inline_bytes->size();
  } else {
    stored.version = location.if_match;
    if (location.pieces.empty()) stored.kind = StoredBytes::Kind::kAbsent;
    if (location.pieces.empty()) return stored;
    const bool is_open = std::ranges::any_of(location.pieces, [](const ByteRange& piece) {
      return piece.length == ByteRange::kToEnd;
    });
    std::optional<backends::ValueInfo> info;
    if (is_open) {
      NDLFS_TRY(info, location.store->Stat(location.key));
      if (!info && !location.must_exist) stored.kind = StoredBytes::Kind::kAbsent;
      if (!info) return stored;
      if (!stored.version) stored.version = info->generation;
    }
    for (ByteRange& piece : stored.location.pieces) {
      if (piece.length == ByteRange::kToEnd) {
        piece.length = info->size - std::min(info->size, piece.offset);
      }
      stored.size = backends::CheckedAdd(stored.size, piece.length).value_or(UINT64_MAX);
    }
  }
  const ArraySpec& spec = source.spec();
  const uint64_t most = spec.dtype.is_fixed_size()
                            ? spec.codecs.MaxEncodedSize(spec.grid.ChunkShape(index))
                            : spec.max_chunk_bytes;
  if (stored.size <= most) stored.kind = StoredBytes::Kind::kEncoded;
  return stored;
}

namespace {

Result<void> ReadPieces(const StoredBytes& stored, const LoadContext& context, uint64_t offset,
                        ByteSpan out) {
  const ChunkLocation& location = stored.location;
  for (const ByteRange& piece : location.pieces) {
    if (out.empty()) break;
    if (offset >= piece.length) {
      offset -= piece.length;
      continue;
    }
    const ByteSpan part = out.first(std::min<uint64_t>(out.size(), piece.length - offset));
    const auto expected = Expect(location, context.ledger);
    LoadPace::Fetch fetch(context.pace);
    NDLFS_TRY(
        const auto read,
        location.store->Read(location.key,
                             {.range = {piece.offset + offset, part.size()},
                              .if_match = stored.version ? stored.version : expected.version,
                              .never_changes = location.never_changes},
                             [&](uint64_t) -> Result<ByteSpan> { return part; }));
    fetch.End();
    NDLFS_RETURN_IF_ERROR(NoteRead(location, context.ledger, read, expected.looks));
    if (!read && location.must_exist) return backends::LostChunk();
    if (!read) return model::Stale("it is gone");
    if (read->count != part.size()) return backends::CutShort();
    out = out.subspan(part.size());
    offset = 0;
  }
  return {};
}

}  // namespace

Result<void> ReadStored(const StoredBytes& stored, const LoadContext& context, uint64_t offset,
                        ByteSpan out) {
  const ChunkLocation& location = stored.location;
  if (location.inline_bytes) {
    const auto bytes = location.inline_bytes->span().subspan(offset, out.size());
    std::ranges::copy(bytes, out.begin());
    return {};
  }
  auto read = ReadPieces(stored, context, offset, out);
  if (!read) NDLFS_RETURN_IF_ERROR(NoteFailed(location, context.ledger));
  return read;
}

bool MayReadInPlace(const ArraySpec& spec) {
  // For smaller chunks, looking at the file costs more than reading in place saves.
  constexpr uint64_t kSmallChunk = uint64_t{128} << 10;
  return spec.dtype.is_fixed_size() && spec.codecs.IsIdentity() &&
         MaxDecodedSize(spec) >= kSmallChunk;
}

Result<bool> ReadInPlace(const backends::ArraySource& source, std::span<const uint64_t> index,
                         const LoadContext& context,
                         const std::function<void(const ReadChunkAt&)>& read) {
  return WithPiece(source, index, context,
                   [&](const ChunkLocation& location, const Loading& loading) -> Result<bool> {
                     const Piece piece(location, context, [&](uint64_t available) {
                       return loading.CheckSize(available);
                     });
                     Result<void> status;
                     read([&](uint64_t offset, ByteSpan out) {
                       status = piece.Read(offset, out);
                       return status.has_value();
                     });
                     if (piece.is_absent()) return false;
                     NDLFS_RETURN_IF_ERROR(status);
                     return true;
                   });
}

bool MayLoadParts(const ArraySpec& spec) {
  return spec.dtype.is_fixed_size() && spec.codecs.DecodesRanges();
}

uint64_t PartTransientSize(uint64_t max_block) { return backends::RangeMemory(max_block); }

Result<std::optional<uint64_t>> FindBlockSize(const backends::ArraySource& source,
                                              std::span<const uint64_t> index,
                                              const LoadContext& context) {
  std::optional<uint64_t> block_size;
  NDLFS_RETURN_IF_ERROR(WithEncoded(
      source, index, context, [&](const Piece& piece, const Loading& loading) -> Result<void> {
        NDLFS_TRY(block_size, source.spec().codecs.BlockSize(piece, loading.shape()));
        return {};
      }));
  return block_size;
}

Result<Bytes> LoadPart(const backends::ArraySource& source, std::span<const uint64_t> index,
                       const LoadContext& context, uint64_t offset, uint64_t size,
                       uint64_t max_block) {
  Bytes part(size);
  const auto decode = [&](const Piece& piece, const Loading& loading) {
    return source.spec().codecs.DecodeRange(piece, loading.shape(), offset, max_block,
                                            part.span());
  };
  NDLFS_TRY(const bool found, WithEncoded(source, index, context, decode));
  if (!found) return model::Internal("there is nothing to decode in parts");
  return part;
}

}  // namespace ndlfs::cache
