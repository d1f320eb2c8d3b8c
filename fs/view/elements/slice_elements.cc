// SPDX-License-Identifier: MIT
#include "fs/view/elements/slice_elements.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "backends/codec/byte_swap.h"
#include "cache/array_reader.h"
#include "cache/prefetcher.h"
#include "cache/range_to_boxes.h"

namespace ndlfs::fs {
namespace {

using backends::Bytes;
using backends::ByteSpan;
using cache::ArrayReader;
using cache::ReadHint;
using model::ByteOrder;
using model::Result;
using Coordinates = std::vector<uint64_t>;

// One dimension of a box of elements that is copied; strides in bytes.
struct CopyAxis {
  uint64_t count;
  int64_t from;
  int64_t to;
};

template <size_t size>
void CopyRow(const std::byte* from, std::byte* to, const CopyAxis& axis) {
  for (uint64_t i = 0; i < axis.count; ++i, from += axis.from, to += axis.to) {
    std::memcpy(to, from, size);
  }
}

void CopyRow(const std::byte* from, std::byte* to, const CopyAxis& axis, size_t item) {
  const auto stride = static_cast<int64_t>(item);
  if (axis.from == stride && axis.to == stride) {
    std::memcpy(to, from, axis.count * item);
    return;
  }
  if (item == 1) return CopyRow<1>(from, to, axis);
  if (item == 2) return CopyRow<2>(from, to, axis);
  if (item == 4) return CopyRow<4>(from, to, axis);
  if (item == 8) return CopyRow<8>(from, to, axis);
  for (uint64_t i = 0; i < axis.count; ++i, from += axis.from, to += axis.to) {
    std::memcpy(to, from, item);
  }
}

// Steps of either sign. `axes` are the slowest first.
void Copy(const std::byte* from, std::byte* to, std::span<const CopyAxis> axes, size_t item) {
  if (axes.empty()) {
    std::memcpy(to, from, item);
    return;
  }
  if (axes.size() == 1) return CopyRow(from, to, axes[0], item);
  for (uint64_t i = 0; i < axes[0].count; ++i, from += axes[0].from, to += axes[0].to) {
    Copy(from, to, axes.subspan(1), item);
  }
}

// The distance in elements from one index to the next, for each dimension.
Coordinates ElementStrides(const Coordinates& shape) {
  Coordinates strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

// Indices of a part along one dimension that lie in one chunk.
struct ChunkRun {
  uint64_t chunk;
  uint64_t begin;  // in the part
  uint64_t count;
};

class SliceElements final : public ElementSource {
 public:
  // `count` is the number of elements.
  SliceElements(std::shared_ptr<const ArrayReader> reader, Selection selection, uint64_t count,
                std::string name)
      : reader_(std::move(reader)),
        selection_(std::move(selection)),
        name_(std::move(name)),
        item_(reader_->spec().dtype.size()),
        size_(count * item_),
        decodes_(reader_->max_chunk_bytes() != 0) {
    for (const IndexRange& range : selection_) shape_.push_back(range.count);
    uint64_t stride = item_;
    strides_.resize(shape_.size());
    for (size_t d = shape_.size(); d-- > 0;) {
      strides_[d] = static_cast<int64_t>(stride);
      stride *= reader_->spec().shape[d];
    }
  }

  uint64_t size() const override { return size_; }

  Result<void> Read(uint64_t offset, ByteSpan out, ByteOrder order,
                    ReadHint hint) const override {
    auto read = ReadBytes(offset, out, order, hint);
    if (read || name_.empty()) return read;
    return model::Propagate(std::move(read).error(), name_);
  }
  std::unique_ptr<ReadTracker> TrackReader(cache::Prefetcher& prefetcher) const override;

  // The first byte in the array of each of the chunks that the bytes [offset, offset + size)
  // come from, in their order; `most` of them at most.
  std::vector<uint64_t> ChunksOf(uint64_t offset, uint64_t size, size_t most) const {
    std::vector<uint64_t> places;
    const auto visit = [&](const Coordinates& begin, const Coordinates& count,
                           uint64_t) -> Result<void> {
      return VisitChunks(begin, count, [&](const std::vector<ChunkRun>& runs) -> Result<void> {
        if (places.size() == most) return model::NotFound("enough");
        places.push_back(PlaceOf(runs));
        return {};
      });
    };
    const uint64_t end = std::min(size_, offset + size);
    if (offset < end) {
      (void)CutIntoBoxes(offset / item_, (end + item_ - 1) / item_, visit);
    }
    return places;
  }
  const std::shared_ptr<const ArrayReader>& reader() const { return reader_; }
  bool decodes() const { return decodes_; }

 private:
  // Elements [begin, end) of the part, a box at a time.
  template <typename Visit>
  Result<void> CutIntoBoxes(uint64_t begin, uint64_t end, const Visit& visit) const {
    return cache::RangeToBoxes(shape_, ElementStrides(shape_), visit).Run(begin, end);
  }
  Result<void> ReadBytes(uint64_t offset, ByteSpan out, ByteOrder order, ReadHint hint) const {
    if (out.empty()) return {};
    // Reads the whole element if only a part of it is wanted.
    while (offset % item_ != 0 || out.size() < item_) {
      const uint64_t from = offset % item_;
      const size_t count = std::min<uint64_t>(item_ - from, out.size());
      Bytes element(item_);
      NDLFS_RETURN_IF_ERROR(ReadElements(offset / item_, element.span(), order, hint));
      std::memcpy(out.data(), element.data() + from, count);
      offset += count;
      out = out.subspan(count);
      if (out.empty()) return {};
    }
    const size_t whole = out.size() - out.size() % item_;
    NDLFS_RETURN_IF_ERROR(ReadElements(offset / item_, out.first(whole), order, hint));
    if (whole == out.size()) return {};
    return ReadBytes(offset + whole, out.subspan(whole), order, hint);
  }

  // Whole elements.
  Result<void> ReadElements(uint64_t first, ByteSpan out, ByteOrder order,
                            ReadHint hint) const {
    std::byte* to = out.data();
    const auto visit = [&](const Coordinates& begin, const Coordinates& count,
                           uint64_t) -> Result<void> {
      uint64_t elements = 1;
      for (const uint64_t n : count) elements *= n;
      NDLFS_RETURN_IF_ERROR(decodes_ && reader_->has_chunks()
                                ? CopyFromChunks(begin, count, to)
                                : CopyFromFile(begin, count, to, hint));
      to += elements * item_;
      return {};
    };
    NDLFS_RETURN_IF_ERROR(CutIntoBoxes(first, first + out.size() / item_, visit));
    if (order == ByteOrder::kLittle) return {};
    NDLFS_TRY(const auto runs, model::PlanByteSwap(reader_->spec().dtype, order));
    backends::SwapElements(runs, item_, out, out);
    return {};
  }

  // The byte in the array of index `i` of the part along dimension `d`.
  int64_t Place(size_t d, uint64_t i) const {
    return static_cast<int64_t>(selection_[d].At(i)) * strides_[d];
  }

  std::vector<ChunkRun> RunsAlong(size_t d, uint64_t begin, uint64_t count) const {
    const backends::ChunkGrid& grid = reader_->spec().grid;
    const IndexRange& range = selection_[d];
    std::vector<ChunkRun> runs;
    for (uint64_t i = begin; i < begin + count;) {
      const uint64_t index = range.At(i);
      const uint64_t chunk = grid.ChunkOf(d, index);
      const uint64_t first = grid.Begin(d, chunk);
      const uint64_t room =
          range.step > 0 ? first + grid.Extent(d, chunk) - 1 - index : index - first;
      const auto width = static_cast<uint64_t>(range.step > 0 ? range.step : -range.step);
      const uint64_t inside = std::min(room / width + 1, begin + count - i);
      runs.push_back({chunk, i, inside});
      i += inside;
    }
    return runs;
  }

  // Calls `visit` with one run along each dimension for every chunk that the box has a part of.
  template <typename Visit>
  Result<void> VisitChunks(const Coordinates& begin, const Coordinates& count,
                           const Visit& visit) const {
    std::vector<std::vector<ChunkRun>> all;
    for (size_t d = 0; d < begin.size(); ++d) all.push_back(RunsAlong(d, begin[d], count[d]));
    std::vector<size_t> at(all.size(), 0);
    std::vector<ChunkRun> runs(all.size());
    for (;;) {
      for (size_t d = 0; d < all.size(); ++d) runs[d] = all[d][at[d]];
      NDLFS_RETURN_IF_ERROR(visit(runs));
      size_t d = all.size();
      while (d > 0 && ++at[d - 1] == all[d - 1].size()) at[--d] = 0;
      if (d == 0) return {};
    }
  }

  uint64_t PlaceOf(const std::vector<ChunkRun>& runs) const {
    int64_t place = 0;
    for (size_t d = 0; d < runs.size(); ++d) place += Place(d, runs[d].begin);
    return static_cast<uint64_t>(place);
  }

  Result<void> CopyFromChunks(const Coordinates& begin, const Coordinates& count,
                              std::byte* to) const {
    Coordinates out_strides(count.size(), item_);
    for (size_t d = count.size(); d-- > 1;) out_strides[d - 1] = out_strides[d] * count[d];
    return VisitChunks(begin, count, [&](const std::vector<ChunkRun>& runs) -> Result<void> {
      uint64_t out = 0;
      for (size_t d = 0; d < runs.size(); ++d) {
        out += (runs[d].begin - begin[d]) * out_strides[d];
      }
      return CopyFromChunk(runs, out_strides, to + out);
    });
  }

  Result<void> CopyFromChunk(const std::vector<ChunkRun>& runs, const Coordinates& out_strides,
                             std::byte* to) const {
    const backends::ArraySpec& spec = reader_->spec();
    std::vector<CopyAxis> axes(runs.size());
    uint64_t from = 0;
    uint64_t stride = item_;
    uint64_t linear = 0;
    for (size_t d = 0; d < runs.size(); ++d) {
      linear = linear * spec.grid.counts()[d] + runs[d].chunk;
    }
    for (size_t d = runs.size(); d-- > 0;) {
      from += (selection_[d].At(runs[d].begin) - spec.grid.Begin(d, runs[d].chunk)) * stride;
      axes[d] = {runs[d].count, selection_[d].step * static_cast<int64_t>(stride),
                 static_cast<int64_t>(out_strides[d])};
      stride *= spec.grid.Extent(d, runs[d].chunk);
    }
    NDLFS_TRY(const auto chunk, reader_->Load(linear));
    if (!chunk->empty()) {
      Copy(chunk->data() + from, to, axes, item_);
      return {};
    }
    std::vector<std::byte> fill = spec.fill;
    fill.resize(item_);
    for (CopyAxis& axis : axes) axis.from = 0;
    Copy(fill.data(), to, axes, item_);
    return {};
  }

  // Where nothing is decoded, the elements are read where they are: in one piece where they lie
  // close together, else row by row.
  Result<void> CopyFromFile(const Coordinates& begin, const Coordinates& count, std::byte* to,
                            ReadHint hint) const {
    std::vector<CopyAxis> axes(count.size());
    auto out = static_cast<int64_t>(item_);
    int64_t from = 0;
    for (size_t d = count.size(); d-- > 0;) {
      axes[d] = {count[d], selection_[d].step * strides_[d], out};
      out *= static_cast<int64_t>(count[d]);
      from += Place(d, begin[d]);
    }
    return CopyPieces(from, axes, to, hint);
  }

  Result<void> CopyPieces(int64_t from, std::span<const CopyAxis> axes, std::byte* to,
                          ReadHint hint) const {
    constexpr uint64_t kMostBetween = uint64_t{1} << 20;
    constexpr uint64_t kMostPerWanted = 64;
    constexpr uint64_t kPage = 4096;  // less is not read from a disk
    uint64_t wanted = item_;
    uint64_t pieces = 1;  // of elements that follow each other
    int64_t low = 0;      // of the bytes from the first to the last
    auto high = static_cast<int64_t>(item_);
    for (const CopyAxis& axis : axes) {
      wanted *= axis.count;
      if (axis.from != static_cast<int64_t>(item_)) pieces *= axis.count;
      const int64_t way = static_cast<int64_t>(axis.count - 1) * axis.from;
      (way < 0 ? low : high) += way;
    }
    const auto between = static_cast<uint64_t>(high - low);
    const bool is_ascending =
        std::ranges::all_of(axes, [](const CopyAxis& axis) { return axis.from > 0; });
    if (between == wanted && is_ascending) {
      return reader_->Read(static_cast<uint64_t>(from), {to, wanted}, ByteOrder::kLittle, hint);
    }
    const bool is_close = between / kMostPerWanted <= wanted || between / kPage <= pieces;
    if (between <= kMostBetween && is_close) {
      Bytes bytes(between);
      NDLFS_RETURN_IF_ERROR(reader_->Read(static_cast<uint64_t>(from + low), bytes.span(),
                                          ByteOrder::kLittle, hint));
      Copy(bytes.data() - low, to, axes, item_);
      return {};
    }
    if (is_close && axes.size() == 1 && axes[0].count > 1) {
      CopyAxis half = axes[0];
      half.count /= 2;
      NDLFS_RETURN_IF_ERROR(CopyPieces(from, {&half, 1}, to, hint));
      from += static_cast<int64_t>(half.count) * half.from;
      to += static_cast<int64_t>(half.count) * half.to;
      half.count = axes[0].count - half.count;
      return CopyPieces(from, {&half, 1}, to, hint);
    }
    for (uint64_t i = 0; i < axes[0].count; ++i, from += axes[0].from, to += axes[0].to) {
      NDLFS_RETURN_IF_ERROR(CopyPieces(from, axes.subspan(1), to, hint));
    }
    return {};
  }

  const std::shared_ptr<const ArrayReader> reader_;
  const Selection selection_;
  const std::string name_;
  const uint64_t item_;
  const uint64_t size_;
  const bool decodes_;
  Coordinates shape_;             // of the part, with the dimensions that are dropped
  std::vector<int64_t> strides_;  // of the array, in bytes
};

// Has the chunks decoded that a reader who goes forward comes to next, and only these: between
// them may lie many that the part has nothing of.
class SliceTracker final : public ReadTracker {
 public:
  SliceTracker(std::shared_ptr<const ArrayReader> reader,
               std::function<std::vector<uint64_t>(uint64_t, uint64_t, size_t)> chunks_of,
               cache::Prefetcher& prefetcher)
      : stream_(prefetcher, std::move(reader)), chunks_of_(std::move(chunks_of)) {}

  ReadHint OnRead(uint64_t offset, uint64_t size) override {
    constexpr size_t kMostAhead = 4;
    // The first is decoded by the reader itself.
    const std::vector<uint64_t> places = chunks_of_(offset, 2 * size, kMostAhead + 1);
    for (size_t i = 1; i < places.size(); ++i) stream_.Expect(places[i]);
    return ReadHint::kOnward;
  }
  void Expect(uint64_t offset) override {
    for (const uint64_t place : chunks_of_(offset, 1, 1)) stream_.Expect(place);
  }

 private:
  cache::ReadStream stream_;
  const std::function<std::vector<uint64_t>(uint64_t, uint64_t, size_t)> chunks_of_;
};

class NothingToTrack final : public ReadTracker {
 public:
  ReadHint OnRead(uint64_t, uint64_t) override { return ReadHint::kAlone; }
};

std::unique_ptr<ReadTracker> SliceElements::TrackReader(cache::Prefetcher& prefetcher) const {
  if (!decodes_ || size_ == 0) return std::make_unique<NothingToTrack>();
  const auto copy = std::make_shared<const SliceElements>(*this);
  return std::make_unique<SliceTracker>(
      reader_,
      [copy](uint64_t offset, uint64_t size, size_t most) {
        return copy->ChunksOf(offset, size, most);
      },
      prefetcher);
}

}  // namespace

Result<std::shared_ptr<const ElementSource>> MakeSliceElements(
    std::shared_ptr<const ArrayReader> reader, Selection selection, std::string name) {
  const backends::ArraySpec& spec = reader->spec();
  if (!spec.dtype.is_fixed_size()) return model::Internal("elements of variable size");
  if (selection.size() != spec.shape.size()) return model::Internal("a slice of another array");
  if (reader->byte_size() > backends::kMaxViewSize) {
    return model::Limit("an array of more than {} bytes", backends::kMaxViewSize);
  }
  uint64_t count = 1;  // no overflow: sources have checked that of all elements
  for (const IndexRange& range : selection) count *= range.count;
  const auto bytes = backends::CheckedProduct(std::vector{count}, spec.dtype.size());
  if (!bytes || *bytes > backends::kMaxViewSize) {
    return model::Limit("more than {} bytes of elements", backends::kMaxViewSize);
  }
  return std::make_shared<const SliceElements>(std::move(reader), std::move(selection), count,
                                               std::move(name));
}

}  // namespace ndlfs::fs
