// SPDX-License-Identifier: MIT
#include "cache/joined_reader.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "backends/base/checked.h"
#include "cache/array_reader.h"
#include "cache/chunk_cache.h"
#include "cache/chunk_ledger.h"
#include "cache/load_counts.h"
#include "cache/strided_copy.h"

namespace ndlfs::cache {

using backends::ByteSpan;
using backends::ChunkGrid;
using model::Result;

namespace {

// A box in an index space: per dimension its beginning, and the index behind its end.
struct IndexBox {
  std::vector<uint64_t> begin;
  std::vector<uint64_t> end;
};

IndexBox BoxOfChunk(const backends::ArraySpec& spec, std::span<const uint64_t> index) {
  IndexBox box;
  for (size_t d = 0; d < index.size(); ++d) {
    const uint64_t begin = spec.grid.Begin(d, index[d]);
    box.begin.push_back(begin);
    box.end.push_back(std::min(begin + spec.grid.Extent(d, index[d]), spec.shape[d]));
  }
  return box;
}

// Calls `visit` with the number of each chunk that has elements of the box, until it returns
// false.
template <typename Visit>
void ForEachChunkIn(const ChunkGrid& grid, const IndexBox& box, const Visit& visit) {
  const size_t rank = grid.rank();
  std::vector<uint64_t> low(rank);
  std::vector<uint64_t> high(rank);
  for (size_t d = 0; d < rank; ++d) {
    low[d] = grid.ChunkOf(d, box.begin[d]);
    high[d] = grid.ChunkOf(d, box.end[d] - 1);
  }
  std::vector<uint64_t> index = low;
  for (;;) {
    uint64_t chunk = 0;
    for (size_t d = 0; d < rank; ++d) chunk = chunk * grid.counts()[d] + index[d];
    if (!visit(chunk)) return;
    size_t d = rank;
    while (d > 0 && index[d - 1] == high[d - 1]) {
      --d;
      index[d] = low[d];
    }
    if (d == 0) return;
    ++index[d - 1];
  }
}

}  // namespace

// Only the reader that opened a part finds its chunks in the cache. A later reader may have a
// ledger that has not seen these chunks, and has to read them itself.
struct JoinedReader::Part {
  explicit Part(ChunkCache& chunks) : cache(chunks) {}
  ~Part() {
    if (reader) cache.Forget(reader->source().id());
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  ChunkCache& cache;
  std::unique_ptr<const ArrayReader> reader;  // null: fill values
  std::shared_ptr<const backends::ElementConverter> converter;
};

JoinedReader::JoinedReader(const backends::ArraySource& source, ChunkCache& cache,
                           std::shared_ptr<ChunkLedger> ledger,
                           std::shared_ptr<LoadCounts> counts)
    : source_(source),
      joined_(*source.joined()),
      cache_(cache),
      ledger_(std::move(ledger)),
      counts_(std::move(counts)),
      stride_(source.spec().dtype.size()) {
  const std::vector<uint64_t>& shape = source.spec().shape;
  for (size_t d = joined_.dim() + 1; d < shape.size(); ++d) stride_ *= shape[d];
}

JoinedReader::~JoinedReader() = default;

// Empty parts begin where the next one does.
size_t JoinedReader::PartAt(uint64_t coordinate) const {
  const std::vector<uint64_t>& bounds = joined_.bounds();
  return static_cast<size_t>(std::ranges::upper_bound(bounds, coordinate) - bounds.begin()) - 1;
}

JoinedReader::PartPtr JoinedReader::FindOpen(size_t index) const {
  const model::MutexLock lock(mutex_);
  const auto found = std::ranges::find(open_, index, &std::pair<size_t, PartPtr>::first);
  if (found == open_.end()) return nullptr;
  open_.splice(open_.begin(), open_, found);
  return found->second;
}

// Several threads may open the same part; one of them is kept.
Result<JoinedReader::PartPtr> JoinedReader::Open(size_t index) const {
  if (PartPtr part = FindOpen(index)) return part;
  NDLFS_TRY(PartPtr part, MakePart(index));
  if (PartPtr other = FindOpen(index)) return other;
  std::pair<size_t, PartPtr> closed;  // outlives the lock
  const model::MutexLock lock(mutex_);
  open_.emplace_front(index, part);
  if (open_.size() > kMostOpen) {
    closed = std::move(open_.back());
    open_.pop_back();
  }
  return part;
}

Result<JoinedReader::PartPtr> JoinedReader::MakePart(size_t index) const {
  NDLFS_TRY(backends::JoinedPart opened, joined_.OpenPart(index));
  auto part = std::make_shared<Part>(cache_);
  part->converter = std::move(opened.converter);
  if (opened.source) {
    if (const auto range = opened.source->contiguous(); range && ledger_) {
      NDLFS_RETURN_IF_ERROR(NotePart(*range));
    }
    part->reader =
        std::make_unique<const ArrayReader>(std::move(opened.source), cache_, ledger_, counts_);
    NDLFS_RETURN_IF_ERROR(CheckPart(index, *part), opened.name);
  }
  return part;
}

// Reads of a local file get the version that was opened first. Notes that version; the ledger
// compares it with the present one.
Result<void> JoinedReader::NotePart(const backends::ContiguousRange& range) const {
  if (!range.store->traits().is_remote) {
    const uint64_t looks = ledger_->Expect(range.store, range.key).looks;
    std::byte first{};
    const auto read =
        range.store->Read(range.key, {.range = {0, 1}},
                          [&](uint64_t) -> Result<ByteSpan> { return ByteSpan(&first, 1); });
    if (read && *read) {
      NDLFS_RETURN_IF_ERROR(ledger_->NoteRead(range.store, range.key, (*read)->info, looks));
    }
  }
  return ledger_->Note(range.store, range.key);
}

// Checks that the elements of a part fit into their place in the join.
Result<void> JoinedReader::CheckPart(size_t index, const Part& part) const {
  const backends::ArraySpec& spec = source_.spec();
  std::vector<uint64_t> shape = spec.shape;
  shape[joined_.dim()] = joined_.bounds()[index + 1] - joined_.bounds()[index];
  const size_t item = part.converter ? part.converter->from_size() : spec.dtype.size();
  const backends::ArraySpec& found = part.reader->spec();
  if (found.dtype.is_fixed_size() && found.dtype.size() == item &&
      part.reader->element_count() == backends::CheckedProduct(shape)) {
    return {};
  }
  return model::Internal("a part with {} elements of {} bytes, expected {} of {}",
                         part.reader->element_count(), found.dtype.size(),
                         backends::CheckedProduct(shape).value_or(0), item);
}

Result<void> JoinedReader::Read(uint64_t offset, ByteSpan out, ReadHint hint) const {
  const std::vector<uint64_t>& bounds = joined_.bounds();
  const uint64_t row = bounds.back() * stride_;
  while (!out.empty()) {
    const uint64_t within = offset % row;
    const size_t index = PartAt(within / stride_);
    const uint64_t begin = bounds[index] * stride_;
    const uint64_t end = bounds[index + 1] * stride_;
    const size_t count = std::min<uint64_t>(out.size(), end - within);
    NDLFS_TRY(const PartPtr part, Open(index));
    NDLFS_RETURN_IF_ERROR(
        ReadPart(*part, offset / row * (end - begin) + within - begin, out.first(count), hint));
    offset += count;
    out = out.subspan(count);
  }
  return {};
}

Result<void> JoinedReader::ReadPart(const Part& part, uint64_t offset, ByteSpan out,
                                    ReadHint hint) const {
  const size_t item = source_.spec().dtype.size();
  if (!part.reader) {
    FillStrided(source_.spec().fill, offset % item, out.data(), {}, out.size());
    return {};
  }
  if (!part.converter) {
    return part.reader->Read(offset, out, model::ByteOrder::kLittle, hint);
  }
  constexpr size_t kBatchBytes = size_t{64} << 10;
  const size_t from_item = part.converter->from_size();
  std::vector<std::byte> from;
  std::vector<std::byte> to;
  while (!out.empty()) {
    const size_t skip = offset % item;
    const uint64_t most = std::max<uint64_t>(1, kBatchBytes / item) * item - skip;
    const size_t count = std::min<uint64_t>(out.size(), most);
    const size_t elements = (skip + count + item - 1) / item;
    from.resize(elements * from_item);
    to.resize(elements * item);
    NDLFS_RETURN_IF_ERROR(
        part.reader->Read(offset / item * from_item, from, model::ByteOrder::kLittle, hint));
    NDLFS_RETURN_IF_ERROR(part.converter->Convert(from, to));
    std::memcpy(out.data(), to.data() + skip, count);
    offset += count;
    out = out.subspan(count);
  }
  return {};
}

void JoinedReader::ForEachChunk(
    std::span<const uint64_t> index, bool opens,
    const std::function<void(const ArrayReader&, uint64_t)>& visit) const {
  constexpr size_t kMostParts = 64;
  constexpr size_t kMostChunks = 64;
  const IndexBox box = BoxOfChunk(source_.spec(), index);
  const size_t dim = joined_.dim();
  const std::vector<uint64_t>& bounds = joined_.bounds();
  const size_t first = PartAt(box.begin[dim]);
  for (size_t i = first; i + 1 < bounds.size() && bounds[i] < box.end[dim]; ++i) {
    if (i - first == kMostParts) return;
    if (bounds[i] == bounds[i + 1]) continue;
    PartPtr part = FindOpen(i);
    if (!part && opens) part = Open(i).value_or(nullptr);
    if (!part || !part->reader) continue;
    IndexBox inner = box;
    inner.begin[dim] = std::max(box.begin[dim], bounds[i]) - bounds[i];
    inner.end[dim] = std::min(box.end[dim], bounds[i + 1]) - bounds[i];
    const ChunkGrid& grid = part->reader->spec().grid;
    if (grid.rank() + 1 == inner.begin.size()) {
      inner.begin.erase(inner.begin.begin() + static_cast<ptrdiff_t>(dim));
      inner.end.erase(inner.end.begin() + static_cast<ptrdiff_t>(dim));
    }
    if (grid.rank() != inner.begin.size()) continue;
    size_t visited = 0;
    ForEachChunkIn(grid, inner, [&](uint64_t chunk) {
      visit(*part->reader, chunk);
      return ++visited < kMostChunks;
    });
  }
}

}  // namespace ndlfs::cache
