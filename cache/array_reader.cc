// SPDX-License-Identifier: MIT
#include "cache/array_reader.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "backends/base/element_stream.h"
#include "backends/codec/byte_swap.h"
#include "backends/store/cancellation.h"
#include "backends/store/kept_values.h"
#include "cache/chunk_ledger.h"
#include "cache/chunk_loader.h"
#include "cache/chunk_parts.h"
#include "cache/chunk_spill.h"
#include "cache/joined_reader.h"
#include "cache/load_counts.h"
#include "cache/range_to_boxes.h"
#include "cache/strided_copy.h"
#include "model/memory_budget.h"

namespace ndlfs::cache {

using backends::ArraySpec;
using backends::Bytes;
using backends::ByteSpan;
using backends::ChunkGrid;
using backends::ConstByteSpan;
using backends::ContiguousRange;
using backends::ElementTable;
using model::Corrupt;
using model::ErrorCode;
using model::Result;
using model::Value;

// The array is taken as one of bytes, whose last dimension is the bytes of an
// element: so a range that begins or ends within an element is nothing special.
// A Box is a part of it, `begin` and `count` per dimension, `offset` where its
// first byte is in the element stream.
struct ArrayReader::Box {
  std::vector<uint64_t> begin;
  std::vector<uint64_t> count;
  uint64_t offset;
  ReadHint hint;
  bool in_place;  // its parts of chunks are read from the files
};

namespace {

using Coordinates = std::vector<uint64_t>;

// If a read takes no more than this of each chunk, the chunks are loaded whole rather than read
// in place.
constexpr uint64_t kLittleOfChunk = 1 << 10;

// A server is asked for contiguous elements in pieces of so many bytes: large enough for some
// of them at once to fill a fast link, and small enough for the first to be soon there on a
// slow one.
constexpr uint64_t kPieceBytes = uint64_t{1} << 20;

// Whether the reader of so many bytes soon wants those around them, which a server can send
// together with them.
bool GoesOn(size_t bytes, ReadHint hint) {
  return hint == ReadHint::kOnward && bytes >= ArrayReader::kLargeRead;
}

// False for a row that crosses many chunks and takes little of each: the next rows would ask
// each of them again and again.
bool TakesMuchOfChunks(const backends::ChunkGrid& grid, const Coordinates& begin,
                       const Coordinates& count) {
  constexpr uint64_t kFewChunks = 8;
  uint64_t chunks = 1;
  uint64_t bytes = count.back();
  for (size_t d = 0; d < grid.rank(); ++d) {
    chunks *= grid.ChunkOf(d, begin[d] + count[d] - 1) - grid.ChunkOf(d, begin[d]) + 1;
    bytes *= count[d];
  }
  return chunks <= kFewChunks || bytes / chunks >= kLittleOfChunk;
}

// Advances `index` through [low, high] in C order; false at the end.
bool Next(Coordinates& index, const Coordinates& low, const Coordinates& high) {
  for (size_t d = index.size(); d-- > 0;) {
    if (index[d] < high[d]) {
      ++index[d];
      return true;
    }
    index[d] = low[d];
  }
  return false;
}

uint64_t LastByteOf(const ArraySpec& spec, const Coordinates& strides, uint64_t chunk) {
  const ChunkGrid& grid = spec.grid;
  uint64_t offset = spec.dtype.size() - 1;
  for (size_t d = grid.rank(); d-- > 0; chunk /= grid.counts()[d]) {
    const uint64_t index = chunk % grid.counts()[d];
    const uint64_t end = grid.Begin(d, index) + grid.Extent(d, index);
    offset += (std::min(end, grid.array_shape()[d]) - 1) * strides[d];
  }
  return offset;
}

model::Error InChunk(model::Error error, std::span<const uint64_t> index) {
  return std::move(error).In("chunk " + FormatChunkIndex(index));
}

}  // namespace

ArrayReader::ArrayReader(std::shared_ptr<const backends::ArraySource> source, ChunkCache& cache,
                         std::shared_ptr<ChunkLedger> ledger,
                         std::shared_ptr<LoadCounts> counts)
    : source_(std::move(source)),
      cache_(cache),
      ledger_(std::move(ledger)),
      counts_(counts ? std::move(counts) : std::make_shared<LoadCounts>()) {
  if (source_->joined()) {
    joined_ = std::make_unique<const JoinedReader>(*source_, cache_, ledger_, counts_);
  } else {
    parts_ = ChunkParts::MakeFor(*source_, cache_, ledger_.get(), *counts_);
  }
  in_place_ = !joined_ && MayReadInPlace(spec());
  const std::vector<uint64_t>& shape = spec().shape;
  strides_.assign(shape.size() + 1, 1);
  element_count_ = 1;
  uint64_t bytes = spec().dtype.size();
  for (size_t d = shape.size(); d-- > 0;) {
    strides_[d] = bytes;
    bytes *= shape[d];
    element_count_ *= shape[d];
  }
  chunk_count_ = 1;
  for (const uint64_t count : spec().grid.counts()) chunk_count_ *= count;
  PlanAhead();
  AddSpill();
}

ArrayReader::~ArrayReader() {
  if (spill_) cache_.RemoveOverflow(source_->id(), spill_.get());
}

std::unique_ptr<const ArrayReader> ArrayReader::WithLedger(
    std::shared_ptr<ChunkLedger> ledger) const {
  return std::make_unique<const ArrayReader>(source_, cache_, std::move(ledger), counts_);
}

// Each answer of a server takes long. So each request asks for much, and several pieces are
// asked for at a time; all chunks of a band have to stay in memory meanwhile.
void ArrayReader::PlanAhead() {
  const size_t item = spec().dtype.size();
  if (!cache_.pace().is_remote() || joined_ || !spec().dtype.is_fixed_size()) return;
  if (in_place_) {
    const uint64_t chunk = MaxDecodedSize(spec());
    in_place_alone_ = band_chunks() <= cache_.budget_bytes() / 2 / chunk;
  }
  if (!source_->contiguous() || item == 0 || item > kPieceBytes) return;
  piece_bytes_ = kPieceBytes - kPieceBytes % item;
  chunk_count_ = (byte_size() + piece_bytes_ - 1) / piece_bytes_;
}

void ArrayReader::AddSpill() {
  const bool decodes = spec().dtype.is_fixed_size() && max_chunk_bytes() != 0 && !joined_;
  if (cache_.spill_space() == nullptr || !decodes || byte_size() == 0) return;
  // The function may outlive this object by a moment, so it holds everything that it needs.
  const auto last_byte = [source = source_, strides = strides_](uint64_t chunk) {
    return LastByteOf(source->spec(), strides, chunk);
  };
  spill_ = std::make_shared<ChunkSpill>(*cache_.spill_space(), max_chunk_bytes(), last_byte);
  cache_.AddOverflow(source_->id(), spill_);
}

uint64_t ArrayReader::ChunkAt(uint64_t offset) const {
  if (piece_bytes_ != 0) return offset / piece_bytes_;
  const ChunkGrid& grid = spec().grid;
  Coordinates index(grid.rank());
  for (size_t d = 0; d < grid.rank(); offset %= strides_[d], ++d) {
    index[d] = grid.ChunkOf(d, offset / strides_[d]);
  }
  return LinearIndex(index);
}

uint64_t ArrayReader::LastByte(uint64_t chunk) const {
  if (piece_bytes_ != 0) return std::min((chunk + 1) * piece_bytes_, byte_size()) - 1;
  return LastByteOf(spec(), strides_, chunk);
}

uint64_t ArrayReader::max_chunk_bytes() const {
  const bool is_plain = joined_ && source_->joined()->is_plain();
  return source_->contiguous() || in_place_ || is_plain ? 0 : MaxDecodedSize(spec());
}

uint64_t ArrayReader::max_ahead_bytes() const {
  if (piece_bytes_ != 0) return std::min(piece_bytes_, byte_size());
  return in_place_alone_ ? MaxDecodedSize(spec()) : max_chunk_bytes();
}

uint64_t ArrayReader::band_chunks() const {
  if (piece_bytes_ != 0) return 1;
  // If a chunk has more than one index along a dimension, the stream comes back to it for each
  // of them. It also comes back to all chunks along the later dimensions.
  const ChunkGrid& grid = spec().grid;
  size_t d = 0;
  while (d < grid.rank() && grid.max_chunk_shape()[d] == 1) ++d;
  uint64_t chunks = 1;
  for (++d; d < grid.rank(); ++d) chunks *= grid.counts()[d];
  return chunks;
}

Result<bool> ArrayReader::IsStored(uint64_t chunk) const {
  if (joined_) return true;
  if (const auto range = source_->contiguous(); range && range->exact_size) {
    NDLFS_TRY(const auto info, range->store->Stat(range->key));
    return info.has_value();
  }
  const Coordinates index = IndexOf(chunk);
  return cache::IsStored(*source_, index, Context()).map_error([&](model::Error error) {
    return InChunk(std::move(error), index);
  });
}

Result<ArrayReader::ChunkCost> ArrayReader::CostOf(uint64_t chunk) const {
  ChunkCost cost;
  if (joined_) {
    Result<void> status;
    cost.is_kept = true;
    joined_->ForEachChunk(IndexOf(chunk), /*opens=*/true,
                          [&](const ArrayReader& part, uint64_t of_part) {
                            const auto one = part.CostOf(of_part);
                            if (!one) status = model::Propagate(one.error());
                            if (!status) return;
                            cost.fetched_bytes += one->fetched_bytes;
                            cost.decoded_bytes += one->decoded_bytes;
                            cost.is_kept = cost.is_kept && one->is_kept;
                          });
    NDLFS_RETURN_IF_ERROR(status);
    return cost;
  }
  cost.is_kept =
      cache_.Contains({source_->id(), chunk}) || (spill_ != nullptr && spill_->Contains(chunk));
  if (source_->contiguous()) {
    const uint64_t piece = piece_bytes_ != 0 ? piece_bytes_ : byte_size();
    cost.fetched_bytes = std::min(piece, byte_size() - std::min(byte_size(), chunk * piece));
    return cost;
  }
  const Index index = IndexOf(chunk);
  NDLFS_TRY(const auto stored,
            StoredSize(*source_, index, Context()).map_error([&](model::Error error) {
              return InChunk(std::move(error), index);
            }));
  cost.fetched_bytes = stored.value_or(0);
  // A chunk that is not there decodes to nothing.
  const bool decodes = stored != uint64_t{0} && max_chunk_bytes() != 0;
  if (decodes) cost.decoded_bytes = DecodedSize(spec(), spec().grid.ChunkShape(index));
  return cost;
}

Result<StoredBytes> ArrayReader::FindStored(uint64_t chunk) const {
  const Coordinates index = IndexOf(chunk);
  return cache::FindStored(*source_, index, Context()).map_error([&](model::Error error) {
    return InChunk(std::move(error), index);
  });
}

Result<void> ArrayReader::ReadStored(uint64_t chunk, const StoredBytes& stored, uint64_t offset,
                                     ByteSpan out) const {
  auto read = cache::ReadStored(stored, Context(), offset, out);
  if (read) return read;
  model::Error error = std::move(read).error();
  const backends::ChunkLocation& location = stored.location;
  if (location.store) error = std::move(error).In(location.store->Describe(location.key));
  return model::Propagate(InChunk(std::move(error), IndexOf(chunk)));
}

bool ArrayReader::Prefetch(uint64_t chunk) const {
  if (joined_) {
    bool loaded = false;
    joined_->ForEachChunk(IndexOf(chunk), /*opens=*/true,
                          [&](const ArrayReader& part, uint64_t of_part) {
                            loaded = part.Prefetch(of_part) || loaded;
                          });
    return loaded;
  }
  if (cache_.Contains({source_->id(), chunk})) return false;
  if (const auto range = source_->contiguous()) {
    return piece_bytes_ != 0 && Piece(*range, chunk).has_value();
  }
  if (spill_ && spill_->Contains(chunk)) return false;
  return Load(chunk).has_value();  // an error is the reader's to see
}

bool ArrayReader::IsKept(uint64_t chunk) const {
  if (joined_ || cache_.Contains({source_->id(), chunk})) return false;
  try {
    if (const auto range = source_->contiguous()) {
      return backends::IsKept(*range->store, range->key,
                              {range->offset + chunk * piece_bytes_, max_ahead_bytes()});
    }
    return cache::IsKept(*source_, IndexOf(chunk), Context());
  } catch (const std::exception&) {  // Prefetch() will tell
    return false;
  }
}

void ArrayReader::Retire(uint64_t chunk) const {
  if (joined_) {
    joined_->ForEachChunk(
        IndexOf(chunk), /*opens=*/false,
        [](const ArrayReader& part, uint64_t of_part) { part.Retire(of_part); });
    return;
  }
  const bool others = spill_ && spill_->Wants(chunk);
  if (!others) cache_.Retire({source_->id(), chunk});
}

Result<ChunkCache::Handle> ArrayReader::Load(uint64_t chunk) const {
  return Chunk(IndexOf(chunk));
}

std::string ArrayReader::ChunkName(uint64_t chunk) const {
  return FormatChunkIndex(IndexOf(chunk));
}

LoadContext ArrayReader::Context() const {
  return {cache_, ledger_.get(), &cache_.pace(), &cache_.decode_times()};
}

ArrayReader::Index ArrayReader::IndexOf(uint64_t chunk) const {
  const ChunkGrid& grid = spec().grid;
  Index index(grid.rank());
  for (size_t d = grid.rank(); d-- > 0; chunk /= grid.counts()[d]) {
    index[d] = chunk % grid.counts()[d];
  }
  return index;
}

uint64_t ArrayReader::LinearIndex(std::span<const uint64_t> index) const {
  uint64_t linear = 0;
  for (size_t d = 0; d < index.size(); ++d) {
    linear = linear * spec().grid.counts()[d] + index[d];
  }
  return linear;
}

Result<void> ArrayReader::Read(uint64_t offset, ByteSpan out, model::ByteOrder order,
                               ReadHint hint) const {
  if (!spec().dtype.is_fixed_size()) return model::Internal("elements of variable size");
  const uint64_t size = byte_size();
  if (offset > size || out.size() > size - offset) {
    return model::Internal("bytes {} + {} of {}", offset, out.size(), size);
  }
  if (out.empty()) return {};
  if (order == model::ByteOrder::kLittle) return ReadLittle(offset, out, hint);
  NDLFS_TRY(const auto runs, model::PlanByteSwap(spec().dtype, order));
  return ReadSwapped(
      runs, [&](uint64_t at, ByteSpan part) { return ReadLittle(at, part, hint); }, offset,
      out);
}

Result<void> ArrayReader::ReadLittle(uint64_t offset, ByteSpan out, ReadHint hint) const {
  if (joined_) return joined_->Read(offset, out, hint);
  if (const auto range = source_->contiguous()) {
    return piece_bytes_ != 0 ? ReadPieces(*range, offset, out, hint)
                             : ReadContiguous(*range, offset, out);
  }
  Coordinates shape = spec().shape;
  shape.push_back(spec().dtype.size());
  const auto visit = [&](Coordinates begin, Coordinates count, uint64_t at) {
    const bool in_place = in_place_ && !(in_place_alone_ && GoesOn(out.size(), hint)) &&
                          out.size() >= kLittleOfChunk &&
                          TakesMuchOfChunks(spec().grid, begin, count);
    return ReadBox({std::move(begin), std::move(count), at, hint, in_place},
                   out.data() + (at - offset));
  };
  return RangeToBoxes(std::move(shape), strides_, visit).Run(offset, offset + out.size());
}

// Reads through the pieces in the cache. If a piece is not there and the read is short, or
// stands alone, only the requested bytes are read.
Result<void> ArrayReader::ReadPieces(const ContiguousRange& range, uint64_t offset,
                                     ByteSpan out, ReadHint hint) const {
  const bool goes_on = GoesOn(out.size(), hint);
  while (!out.empty()) {
    NDLFS_RETURN_IF_ERROR(backends::CancellationScope::Check());
    const uint64_t number = offset / piece_bytes_;
    const uint64_t from = offset % piece_bytes_;
    const ByteSpan part = out.first(std::min<uint64_t>(out.size(), piece_bytes_ - from));
    if (goes_on || cache_.Contains({source_->id(), number})) {
      NDLFS_TRY(const ChunkCache::Handle piece, Piece(range, number));
      std::copy_n(piece->data() + from, part.size(), part.data());
    } else {
      NDLFS_RETURN_IF_ERROR(ReadContiguous(range, offset, part));
    }
    offset += part.size();
    out = out.subspan(part.size());
  }
  return {};
}

Result<ChunkCache::Handle> ArrayReader::Piece(const ContiguousRange& range,
                                              uint64_t number) const {
  const uint64_t begin = number * piece_bytes_;
  const uint64_t size = std::min(piece_bytes_, byte_size() - begin);
  return cache_.GetOrLoad({source_->id(), number}, size, 0, [&]() -> Result<Bytes> {
    Bytes piece(size);
    NDLFS_RETURN_IF_ERROR(ReadContiguous(range, begin, piece.span()));
    return piece;
  });
}

Result<void> ArrayReader::ReadContiguous(const ContiguousRange& range, uint64_t offset,
                                         ByteSpan out) const {
  NDLFS_TRY(const auto runs, model::PlanByteSwap(range.stored, model::ByteOrder::kLittle));
  return ReadSwapped(
      runs, [&](uint64_t at, ByteSpan part) { return ReadRaw(range, runs, at, part); }, offset,
      out);
}

// Reads the bytes as they are stored; `runs` turns them into those that are shown.
Result<void> ArrayReader::ReadRaw(const ContiguousRange& range,
                                  std::span<const model::SwapRun> runs, uint64_t offset,
                                  ByteSpan out) const {
  const auto where = [&] { return range.store->Describe(range.key); };
  const bool is_chunk = range.exact_size.has_value();  // and its file is watched
  backends::ReadOptions options{.range = {range.offset + offset, out.size()}};
  ChunkLedger::Expected expected;
  if (is_chunk && ledger_) expected = ledger_->Expect(range.store, range.key);
  options.if_match = expected.version;
  const auto reserve = [&](uint64_t size) -> Result<ByteSpan> {
    if (is_chunk && size != *range.exact_size) {
      return Corrupt("{} bytes, expected {}", size, *range.exact_size);
    }
    return out;
  };
  LoadPace::Fetch fetch(&cache_.pace());
  const auto got = range.store->Read(range.key, options, reserve);
  fetch.End();
  if (is_chunk && ledger_) {
    NDLFS_RETURN_IF_ERROR(
        got ? ledger_->NoteRead(range.store, range.key,
                                *got ? std::optional((*got)->info) : std::nullopt,
                                expected.looks)
            : ledger_->Note(range.store, range.key));
  }
  if (!got) return model::Propagate(got.error(), where());
  if (!*got && is_chunk) {  // an absent chunk
    const size_t item = spec().dtype.size();
    std::vector<std::byte> fill = spec().fill;
    if (!fill.empty()) backends::SwapElements(runs, item, fill, fill);
    FillStrided(fill, offset % item, out.data(), {}, out.size());
    return {};
  }
  if (!*got || (*got)->count != out.size()) {
    return model::Propagate(
        Corrupt("ends before byte {}", range.offset + offset + out.size()).value(), where());
  }
  counts_->direct_bytes.fetch_add(out.size(), std::memory_order_relaxed);
  return {};
}

Result<void> ArrayReader::ReadSwapped(std::span<const model::SwapRun> runs,
                                      const RawReader& read, uint64_t offset,
                                      ByteSpan out) const {
  if (runs.empty()) return read(offset, out);
  const size_t item = spec().dtype.size();
  // A part of an element, at either end, is cut out of the whole one.
  const auto part = [&](uint64_t element, size_t from, ByteSpan into) -> Result<void> {
    Bytes whole(item);
    NDLFS_RETURN_IF_ERROR(read(element * item, whole.span()));
    backends::SwapElements(runs, item, whole.span(), whole.span());
    std::copy_n(whole.data() + from, into.size(), into.data());
    return {};
  };
  if (const size_t from = offset % item; from != 0) {
    const size_t length = std::min<size_t>(item - from, out.size());
    NDLFS_RETURN_IF_ERROR(part(offset / item, from, out.first(length)));
    offset += length;
    out = out.subspan(length);
  }
  const size_t whole = out.size() - out.size() % item;
  if (whole != 0) {
    NDLFS_RETURN_IF_ERROR(read(offset, out.first(whole)));
    backends::SwapElements(runs, item, out.first(whole), out.first(whole));
  }
  if (whole != out.size()) return part((offset + whole) / item, 0, out.subspan(whole));
  return {};
}

Result<void> ArrayReader::ReadBox(const Box& box, std::byte* out) const {
  const ChunkGrid& grid = spec().grid;
  Coordinates low(grid.rank());
  Coordinates high(grid.rank());
  for (size_t d = 0; d < grid.rank(); ++d) {
    low[d] = grid.ChunkOf(d, box.begin[d]);
    high[d] = grid.ChunkOf(d, box.begin[d] + box.count[d] - 1);
  }
  Coordinates chunk = low;
  do {
    NDLFS_RETURN_IF_ERROR(backends::CancellationScope::Check());
    NDLFS_RETURN_IF_ERROR(CopyFromChunk(box, chunk, out));
  } while (Next(chunk, low, high));
  return {};
}

// Copies what `box` and the chunk at `index` have in common. `out` is where
// the first byte of the box goes; the element stream's strides apply there.
Result<void> ArrayReader::CopyFromChunk(const Box& box, const Index& index,
                                        std::byte* out) const {
  const ChunkGrid& grid = spec().grid;
  const size_t item = spec().dtype.size();
  const size_t phase = box.begin.back();
  size_t from = phase;
  size_t to = 0;
  std::vector<CopyAxis> axes(grid.rank());
  size_t stride = item;
  for (size_t d = grid.rank(); d-- > 0;) {
    const uint64_t chunk_begin = grid.Begin(d, index[d]);
    const uint64_t extent = grid.Extent(d, index[d]);
    const uint64_t begin = std::max(box.begin[d], chunk_begin);
    const uint64_t end = std::min(box.begin[d] + box.count[d], chunk_begin + extent);
    axes[d] = {end - begin, stride, strides_[d]};
    from += (begin - chunk_begin) * stride;
    to += (begin - box.begin[d]) * strides_[d];
    stride *= extent;
  }
  const uint64_t number = LinearIndex(index);
  if (CopyFromSpill(number, from, out + to, axes, box.count.back())) return {};
  if (box.in_place && !(in_place_alone_ && cache_.Contains({source_->id(), number}))) {
    NDLFS_TRY(const bool copied, CopyInPlace(index, from, out + to, axes, box.count.back()));
    if (copied) return {};
  }
  if (box.hint == ReadHint::kAlone && parts_ &&
      parts_->Copy({index, number}, from, out + to, axes, box.count.back())) {
    return {};
  }
  NDLFS_TRY(const ChunkCache::Handle chunk, Chunk(index));
  if (chunk->empty()) {
    FillStrided(spec().fill, phase, out + to, axes, box.count.back());
  } else {
    CopyStrided(chunk->data() + from, out + to, std::move(axes), box.count.back());
  }
  return {};
}

bool ArrayReader::CopyFromSpill(uint64_t chunk, uint64_t from, std::byte* to,
                                const std::vector<CopyAxis>& axes, size_t run) const {
  if (spill_ == nullptr || spill_->empty()) return false;
  return spill_->Read(chunk, [&](const ChunkSpill::ReadAt& read) {
    return ReadStrided(read, from, to, axes, run);
  });
}

Result<bool> ArrayReader::CopyInPlace(const Index& index, uint64_t from, std::byte* to,
                                      const std::vector<CopyAxis>& axes, size_t run) const {
  uint64_t wanted = run;
  for (const CopyAxis& axis : axes) wanted *= axis.count;
  auto copied =
      ReadInPlace(*source_, index, Context(), [&](const ReadChunkAt& read) {
        ReadStrided(read, from, to, axes, run);
      }).map_error([&](model::Error error) { return InChunk(std::move(error), index); });
  if (copied && *copied) counts_->direct_bytes.fetch_add(wanted, std::memory_order_relaxed);
  return copied;
}

Result<ChunkCache::Handle> ArrayReader::Chunk(const Index& index) const {
  const bool is_fixed = spec().dtype.is_fixed_size();
  bool is_hit = true;
  auto chunk =
      (is_fixed ? FixedChunk(index, is_hit) : VariableChunk(index, is_hit))
          .map_error([&](model::Error error) { return InChunk(std::move(error), index); });
  const bool has_failed = !chunk && !is_hit && chunk.error().code() != ErrorCode::kCancelled;
  if (has_failed) counts_->failures.fetch_add(1, std::memory_order_relaxed);
  if (chunk && is_hit) counts_->hits.fetch_add(1, std::memory_order_relaxed);
  return chunk;
}

Result<Bytes> ArrayReader::LoadCounted(const Index& index, uint64_t limit,
                                       ChunkCache::Reservation& reserved) const {
  const auto begin = LoadCounts::Clock::now();
  const std::function<void(uint64_t)> needs_only = [&](uint64_t bytes) {
    reserved.NeedsOnly(bytes);
  };
  LoadContext context = Context();
  context.needs_only = &needs_only;
  auto chunk = LoadChunk(*source_, index, context, limit);
  if (chunk) counts_->AddLoad(counts_->decoded, chunk->size(), begin);
  return chunk;
}

Result<ChunkCache::Handle> ArrayReader::FixedChunk(const Index& index, bool& is_hit) const {
  const Coordinates shape = spec().grid.ChunkShape(index);
  NDLFS_RETURN_IF_ERROR(CheckFits(spec(), shape));
  return cache_.GetOrLoad({source_->id(), LinearIndex(index)}, DecodedSize(spec(), shape),
                          TransientSize(spec(), shape), [&](ChunkCache::Reservation& reserved) {
                            is_hit = false;
                            return LoadCounted(index, spec().max_chunk_bytes, reserved);
                          });
}

// Nobody knows how large the chunk will be. It gets little memory at first, which nearly always
// suffices. If not, it gets much more, up to the limit. So chunks that claim much memory are
// decoded one by one.
Result<ChunkCache::Handle> ArrayReader::VariableChunk(const Index& index, bool& is_hit) const {
  constexpr uint64_t kLeast = uint64_t{256} << 10;
  constexpr uint64_t kMost = uint64_t{4} << 20;
  constexpr uint64_t kGrowth = 32;
  const uint64_t max =
      std::min(spec().max_chunk_bytes, model::MemoryBudget::MostForChunk() / VariableSize(1));
  const BlockKey key = {source_->id(), LinearIndex(index)};
  uint64_t limit = std::min(max, std::clamp(cache_.budget_bytes() / 64, kLeast, kMost));
  for (;;) {
    auto chunk =
        cache_.GetOrLoad(key, 0, VariableSize(limit), [&](ChunkCache::Reservation& reserved) {
          is_hit = false;
          return LoadCounted(index, limit, reserved);
        });
    // Not every codec can say that it lacks room.
    const bool may_need_more = !chunk && (chunk.error().code() == ErrorCode::kLimit ||
                                          chunk.error().code() == ErrorCode::kCorrupt);
    if (!may_need_more || limit == max) return chunk;
    limit = max / kGrowth < limit ? max : limit * kGrowth;
  }
}

Result<void> ArrayReader::Visit(uint64_t first, uint64_t count,
                                const std::function<bool(ConstByteSpan)>& visit) const {
  if (first > element_count_ || count > element_count_ - first) {
    return model::Internal("elements {} + {} of {}", first, count, element_count_);
  }
  if (!spec().dtype.is_fixed_size()) return VisitVariable(first, count, visit);
  constexpr size_t kLeastBytes = 8 << 10;  // often no more is wanted
  constexpr size_t kMostBytes = 128 << 10;
  const size_t item = spec().dtype.size();
  for (size_t bytes = kLeastBytes; count > 0; bytes = std::min(2 * bytes, kMostBytes)) {
    const uint64_t batch =
        item == 0 ? count : std::min(count, std::max<uint64_t>(1, bytes / item));
    Bytes buffer(batch * item);
    NDLFS_RETURN_IF_ERROR(Read(first * item, buffer.span()));
    for (uint64_t i = 0; i < batch; ++i) {
      if (!visit(std::as_const(buffer).span().subspan(i * item, item))) return {};
    }
    first += batch;
    count -= batch;
  }
  return {};
}

// Goes along rows: as far as the last dimension of a chunk reaches.
Result<void> ArrayReader::VisitVariable(uint64_t first, uint64_t count,
                                        const std::function<bool(ConstByteSpan)>& visit) const {
  const ChunkGrid& grid = spec().grid;
  const std::vector<std::byte> absent =
      spec().fill.empty() ? backends::ZeroElement(spec().dtype) : spec().fill;
  while (count > 0) {
    Coordinates at(grid.rank());
    uint64_t rest = first;
    for (size_t d = grid.rank(); d-- > 0; rest /= spec().shape[d])
      at[d] = rest % spec().shape[d];
    Coordinates index(grid.rank());
    uint64_t within = 0;
    uint64_t elements = 1;
    uint64_t run = 1;
    for (size_t d = 0; d < grid.rank(); ++d) {
      index[d] = grid.ChunkOf(d, at[d]);
      const uint64_t extent = grid.Extent(d, index[d]);
      within = within * extent + (at[d] - grid.Begin(d, index[d]));
      elements *= extent;
      run = std::min(grid.Begin(d, index[d]) + extent, spec().shape[d]) - at[d];
    }
    run = std::min(run, count);
    NDLFS_TRY(const ChunkCache::Handle chunk, Chunk(index));
    std::optional<ElementTable> table;
    if (!chunk->empty()) {
      NDLFS_TRY(table, ElementTable::Make(chunk->span(), elements));
    }
    for (uint64_t i = 0; i < run; ++i) {
      if (!visit(table ? (*table)[within + i] : ConstByteSpan(absent))) return {};
    }
    first += run;
    count -= run;
  }
  return {};
}

Result<Value> ReadValue(const ArrayReader& reader) {
  const model::Datatype& type = reader.spec().dtype;
  std::vector<Value> values;
  Result<void> decoded;
  NDLFS_RETURN_IF_ERROR(reader.Visit(0, reader.element_count(), [&](ConstByteSpan bytes) {
    Result<Value> value = type.is_fixed_size() ? model::DecodeElement(type, bytes)
                                               : backends::TakeElement(type, bytes);
    if (!value) {
      decoded = model::Propagate(std::move(value).error());
      return false;
    }
    values.push_back(*std::move(value));
    return true;
  }));
  NDLFS_RETURN_IF_ERROR(decoded);
  if (reader.spec().shape.empty()) return std::move(values.front());
  // From the last dimension on, each `extent` values become one list.
  for (size_t d = reader.spec().shape.size(); d-- > 1;) {
    const uint64_t extent = reader.spec().shape[d];
    uint64_t lists = 1;
    for (size_t outer = 0; outer < d; ++outer) lists *= reader.spec().shape[outer];
    std::vector<Value> nested;
    auto next = std::make_move_iterator(values.begin());
    for (uint64_t i = 0; i < lists; ++i, next += static_cast<ptrdiff_t>(extent)) {
      nested.emplace_back(Value::List(next, next + static_cast<ptrdiff_t>(extent)));
    }
    values = std::move(nested);
  }
  return Value(std::move(values));
}

std::string FormatChunkIndex(std::span<const uint64_t> index) {
  return index.empty() ? "0" : fmt::format("{}", fmt::join(index, "."));
}

}  // namespace ndlfs::cache
