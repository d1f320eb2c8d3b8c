// SPDX-License-Identifier: MIT
#include "fs/view/elements/slice_elements.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "backends/codec/byte_swap.h"
#include "cache/array_reader.h"
#include "cache/chunk_spill.h"
#include "cache/prefetcher.h"
#include "cache/range_to_boxes.h"
#include "fs/view/elements/chunk_need.h"
#include "fs/view/elements/element_window.h"
#include "fs/view/elements/whole_elements.h"
#include "model/mutex.h"

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

// Copies a plane: elements follow each other along `a` where they come from, and along `b`
// where they go to. Goes in squares, which the processor's cache holds on both sides.
template <size_t size>
void TurnPlane(const std::byte* from, std::byte* to, const CopyAxis& a, const CopyAxis& b) {
  constexpr uint64_t kSide = 16;
  for (uint64_t a0 = 0; a0 < a.count; a0 += kSide) {
    const uint64_t a1 = std::min(a0 + kSide, a.count);
    for (uint64_t b0 = 0; b0 < b.count; b0 += kSide) {
      const uint64_t b1 = std::min(b0 + kSide, b.count);
      for (uint64_t i = a0; i < a1; ++i) {
        const CopyAxis row{b1 - b0, b.from, static_cast<int64_t>(size)};
        CopyRow<size>(from + i * size + b0 * static_cast<uint64_t>(b.from),
                      to + i * static_cast<uint64_t>(a.to) + b0 * size, row);
      }
    }
  }
}

// Copies a box whose elements follow each other on both sides, in two orders of dimensions.
void TurnBox(const std::byte* from, std::byte* to, std::vector<CopyAxis> axes, size_t item) {
  const auto stride = static_cast<int64_t>(item);
  std::erase_if(axes, [](const CopyAxis& axis) { return axis.count == 1; });
  const auto a = std::ranges::find(axes, stride, &CopyAxis::from);
  const auto b = std::ranges::find(axes, stride, &CopyAxis::to);
  const bool is_known = item == 1 || item == 2 || item == 4 || item == 8;
  if (a == b || a == axes.end() || b == axes.end() || !is_known) {
    return Copy(from, to, axes, item);
  }
  const CopyAxis plane_a = *a;
  const CopyAxis plane_b = *b;
  std::erase_if(axes, [&](const CopyAxis& axis) {
    return axis.from == plane_a.from || axis.to == plane_b.to;
  });
  std::vector<uint64_t> at(axes.size(), 0);
  for (;;) {
    if (item == 1) TurnPlane<1>(from, to, plane_a, plane_b);
    if (item == 2) TurnPlane<2>(from, to, plane_a, plane_b);
    if (item == 4) TurnPlane<4>(from, to, plane_a, plane_b);
    if (item == 8) TurnPlane<8>(from, to, plane_a, plane_b);
    size_t d = axes.size();
    for (; d > 0; --d) {
      const CopyAxis& axis = axes[d - 1];
      from += axis.from;
      to += axis.to;
      if (++at[d - 1] < axis.count) break;
      at[d - 1] = 0;
      from -= axis.from * static_cast<int64_t>(axis.count);
      to -= axis.to * static_cast<int64_t>(axis.count);
    }
    if (d == 0) return;
  }
}

// The distance in elements from one index to the next, for each dimension.
Coordinates ElementStrides(const Coordinates& shape) {
  Coordinates strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

// Elements of chunks with one dimension as the slowest, and the others in their order. A range
// of indices of that dimension then lies together.
class TurnedOrder final : public cache::ChunkSpill::Order {
 public:
  // Written at a time, or one index of the slowest dimension.
  static constexpr uint64_t kMostBytes = uint64_t{1} << 20;

  // `slowest` is not 0.
  TurnedOrder(backends::ChunkGrid grid, uint64_t item, size_t slowest)
      : Order(slowest), grid_(std::move(grid)), item_(item) {}

  // The distances in bytes from one element to the next of a chunk of these extents.
  std::vector<int64_t> Strides(const Coordinates& extents) const {
    std::vector<int64_t> strides(extents.size());
    uint64_t stride = item_;
    for (size_t d = extents.size(); d-- > 0;) {
      if (d == key()) continue;
      strides[d] = static_cast<int64_t>(stride);
      stride *= extents[d];
    }
    strides[key()] = static_cast<int64_t>(stride);
    return strides;
  }

  bool Write(uint64_t chunk, backends::ConstByteSpan elements,
             const WriteAt& write) const override {
    const size_t rank = grid_.rank();
    Coordinates extents(rank);
    for (size_t d = rank; d-- > 0; chunk /= grid_.counts()[d]) {
      extents[d] = grid_.Extent(d, chunk % grid_.counts()[d]);
    }
    const std::vector<int64_t> strides = Strides(extents);
    const auto step = static_cast<uint64_t>(strides[key()]);
    if (elements.size() != step * extents[key()]) return false;
    const uint64_t most = std::max<uint64_t>(1, kMostBytes / step);
    std::vector<CopyAxis> axes(rank);
    auto from = static_cast<int64_t>(item_);
    for (size_t d = rank; d-- > 0; from *= static_cast<int64_t>(extents[d])) {
      axes[d] = {extents[d], from, strides[d]};
    }
    Bytes bytes(std::min(most, extents[key()]) * step);
    for (uint64_t i = 0; i < extents[key()]; i += most) {
      axes[key()].count = std::min(most, extents[key()] - i);
      const uint64_t size = axes[key()].count * step;
      TurnBox(elements.data() + i * static_cast<uint64_t>(axes[key()].from), bytes.data(), axes,
              item_);
      if (!write(i * step, backends::ConstByteSpan(bytes.data(), size))) return false;
    }
    return true;
  }

 private:
  const backends::ChunkGrid grid_;
  const uint64_t item_;
};

// Indices of a part along one dimension that lie in one chunk.
struct ChunkRun {
  uint64_t chunk;
  uint64_t begin;  // in the part
  uint64_t count;
};

// A box of elements of a part. Its dimensions are those of the array.
struct Box {
  Coordinates begin;  // in the part
  Coordinates count;
  std::vector<int64_t> strides;  // in bytes, where the box is copied to
};

class SliceElements final : public ElementSource {
 public:
  // `count` is the number of elements. `axes` has all dimensions.
  SliceElements(std::shared_ptr<const ArrayReader> reader, Selection selection,
                std::vector<size_t> axes, uint64_t count, std::string name)
      : reader_(std::move(reader)),
        selection_(std::move(selection)),
        axes_(std::move(axes)),
        name_(std::move(name)),
        item_(reader_->spec().dtype.size()),
        size_(count * item_),
        decodes_(reader_->max_chunk_bytes() != 0) {
    for (const size_t d : axes_) shape_.push_back(selection_[d].count);
    uint64_t stride = item_;
    strides_.resize(shape_.size());
    for (size_t d = shape_.size(); d-- > 0;) {
      strides_[d] = static_cast<int64_t>(stride);
      stride *= reader_->spec().shape[d];
    }
    if (size_ > 0 && CrossesChunks()) {
      constexpr uint64_t kWindowBytes = uint64_t{12} << 20;
      const uint64_t step = size_ / shape_[0];
      const uint64_t unit = step <= kWindowBytes ? step : item_;
      window_ = std::make_shared<ElementWindow>(
          size_, std::max<uint64_t>(1, kWindowBytes / unit) * unit);
      const auto outer = std::span(reader_->spec().grid.max_chunk_shape()).first(axes_[0]);
      const bool turns = std::ranges::any_of(outer, [](uint64_t n) { return n > 1; });
      // What is turned at a time is in memory beside the cache.
      const uint64_t most =
          reader_->max_chunk_bytes() / reader_->spec().grid.max_chunk_shape()[axes_[0]];
      if (turns && item_ <= sizeof(uint64_t) && most <= TurnedOrder::kMostBytes) {
        order_ = std::make_shared<TurnedOrder>(reader_->spec().grid, item_, axes_[0]);
      }
    }
  }

  uint64_t size() const override { return size_; }
  uint64_t held_bytes() const override { return window_ ? window_->held_bytes() : 0; }

  Result<void> Read(uint64_t offset, ByteSpan out, ByteOrder order,
                    ReadHint hint) const override {
    const auto read_elements = [&](uint64_t first, ByteSpan to) {
      return ReadElements(first, to, order, hint);
    };
    auto read = ReadWholeElements(item_, offset, out, read_elements);
    if (read || name_.empty()) return read;
    return model::Propagate(std::move(read).error(), name_);
  }
  Result<void> VisitChunks(const ChunkVisitor& visit) const override {
    // The list of those along a dimension takes memory.
    constexpr uint64_t kMostAlong = uint64_t{1} << 21;
    if (size_ == 0) return {};
    for (size_t d = 0; d < selection_.size(); ++d) {
      if (std::min(selection_[d].count, reader_->spec().grid.counts()[d]) > kMostAlong) {
        return model::Limit("more than {} chunks", kMostAlong);
      }
    }
    Box all{Coordinates(selection_.size(), 0), {}, {}};
    for (const IndexRange& range : selection_) all.count.push_back(range.count);
    return VisitChunks(all, [&](const std::vector<ChunkRun>& runs) {
      return visit(*reader_, reader_->ChunkAt(PlaceOf(runs)));
    });
  }
  std::unique_ptr<ReadTracker> TrackReader(cache::Prefetcher& prefetcher) const override;

  // The first byte in the array of each of the chunks that the bytes [offset, offset + size)
  // come from, in their order; `most` of them at most.
  std::vector<uint64_t> ChunksOf(uint64_t offset, uint64_t size, size_t most) const {
    std::vector<uint64_t> places;
    const auto visit = [&](const Coordinates& begin, const Coordinates& count,
                           uint64_t) -> Result<void> {
      const Box box = BoxOf(begin, count);
      return VisitChunks(box, [&](const std::vector<ChunkRun>& runs) -> Result<void> {
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
  // Tells which chunks a reader needs that has come to byte `offset`.
  void TellNeed(const void* tracker, uint64_t offset) const {
    if (selection_.empty() || offset >= size_) return;
    const IndexRange& slowest = selection_[0];
    const uint64_t first = axes_[0] == 0 ? offset / (size_ / slowest.count) : 0;
    const auto [low, high] = std::minmax({slowest.At(first), slowest.At(slowest.count - 1)});
    fs::TellNeed(*reader_, tracker, low, high, order_);
  }
  const std::shared_ptr<const ArrayReader>& reader() const { return reader_; }

 private:
  // Elements [begin, end) of the part, a box at a time.
  template <typename Visit>
  Result<void> CutIntoBoxes(uint64_t begin, uint64_t end, const Visit& visit) const {
    return cache::RangeToBoxes(shape_, ElementStrides(shape_), visit).Run(begin, end);
  }

  // A box whose dimensions are those of the part, and which is copied in C order of these.
  Box BoxOf(const Coordinates& begin, const Coordinates& count) const {
    Box box{Coordinates(begin.size()), Coordinates(begin.size()),
            std::vector<int64_t>(begin.size())};
    auto stride = static_cast<int64_t>(item_);
    for (size_t i = begin.size(); i-- > 0;) {
      box.begin[axes_[i]] = begin[i];
      box.count[axes_[i]] = count[i];
      box.strides[axes_[i]] = stride;
      stride *= static_cast<int64_t>(count[i]);
    }
    return box;
  }

  // Whether elements that follow each other are in chunks that do not, so that each piece of
  // the part needs very many of them.
  bool CrossesChunks() const {
    return decodes_ && reader_->has_chunks() && axes_.size() > 1 && axes_[0] != 0 &&
           reader_->spec().grid.counts()[0] > 1 && selection_[0].count > 1;
  }

  // Whole elements.
  Result<void> ReadElements(uint64_t first, ByteSpan out, ByteOrder order,
                            ReadHint hint) const {
    const auto make = [&](uint64_t begin, ByteSpan bytes) {
      return ReadLittle(begin / item_, bytes, hint);
    };
    NDLFS_RETURN_IF_ERROR(window_ ? window_->Read(first * item_, out, make)
                                  : ReadLittle(first, out, hint));
    if (order == ByteOrder::kLittle) return {};
    NDLFS_TRY(const auto runs, model::PlanByteSwap(reader_->spec().dtype, order));
    backends::SwapElements(runs, item_, out, out);
    return {};
  }
  Result<void> ReadLittle(uint64_t first, ByteSpan out, ReadHint hint) const {
    std::byte* to = out.data();
    const auto visit = [&](const Coordinates& begin, const Coordinates& count,
                           uint64_t) -> Result<void> {
      uint64_t elements = 1;
      for (const uint64_t n : count) elements *= n;
      const Box box = BoxOf(begin, count);
      if (window_) {
        NDLFS_RETURN_IF_ERROR(CopyAndTurn(box, elements, to));
      } else {
        NDLFS_RETURN_IF_ERROR(decodes_ && reader_->has_chunks() ? CopyFromChunks(box, to)
                                                                : CopyFromFile(box, to, hint));
      }
      to += elements * item_;
      return {};
    };
    return CutIntoBoxes(first, first + out.size() / item_, visit);
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
  Result<void> VisitChunks(const Box& box, const Visit& visit) const {
    std::vector<std::vector<ChunkRun>> all;
    for (size_t d = 0; d < box.begin.size(); ++d) {
      all.push_back(RunsAlong(d, box.begin[d], box.count[d]));
    }
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

  // In two steps: elements of a chunk go to places far from each other, which takes long if all
  // of the box is between them.
  Result<void> CopyAndTurn(const Box& box, uint64_t elements, std::byte* to) const {
    const size_t rank = box.count.size();
    Box in_order = box;
    std::vector<CopyAxis> axes(rank);
    auto stride = static_cast<int64_t>(item_);
    for (size_t d = rank; d-- > 0;) {
      in_order.strides[d] = stride;
      axes[d] = {box.count[d], stride, box.strides[d]};
      stride *= static_cast<int64_t>(box.count[d]);
    }
    Bytes bytes(elements * item_);
    NDLFS_RETURN_IF_ERROR(CopyFromChunks(in_order, bytes.data()));
    TurnBox(bytes.data(), to, std::move(axes), item_);
    return {};
  }

  Result<void> CopyFromChunks(const Box& box, std::byte* to) const {
    return VisitChunks(box, [&](const std::vector<ChunkRun>& runs) -> Result<void> {
      int64_t out = 0;
      for (size_t d = 0; d < runs.size(); ++d) {
        out += static_cast<int64_t>(runs[d].begin - box.begin[d]) * box.strides[d];
      }
      return CopyFromChunk(runs, box.strides, to + out);
    });
  }

  Result<void> CopyFromChunk(const std::vector<ChunkRun>& runs,
                             const std::vector<int64_t>& out_strides, std::byte* to) const {
    const backends::ArraySpec& spec = reader_->spec();
    std::vector<CopyAxis> axes(runs.size());
    uint64_t from = 0;
    uint64_t stride = item_;
    const uint64_t linear = NumberOf(runs);
    for (size_t d = runs.size(); d-- > 0;) {
      from += (selection_[d].At(runs[d].begin) - spec.grid.Begin(d, runs[d].chunk)) * stride;
      axes[d] = {runs[d].count, selection_[d].step * static_cast<int64_t>(stride),
                 out_strides[d]};
      stride *= spec.grid.Extent(d, runs[d].chunk);
    }
    if (CopyFromTurned(runs, out_strides, to)) return {};
    if (CopyFromSpill(linear, from, axes, to)) return {};
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

  uint64_t NumberOf(const std::vector<ChunkRun>& runs) const {
    uint64_t number = 0;
    for (size_t d = 0; d < runs.size(); ++d) {
      number = number * reader_->spec().grid.counts()[d] + runs[d].chunk;
    }
    return number;
  }

  // From a chunk on disk that was written in the order of this part.
  bool CopyFromTurned(const std::vector<ChunkRun>& runs,
                      const std::vector<int64_t>& out_strides, std::byte* to) const {
    const cache::ChunkSpill* const spill = reader_->spill();
    if (order_ == nullptr || spill == nullptr || spill->empty()) return false;
    const backends::ChunkGrid& grid = reader_->spec().grid;
    Coordinates extents;
    for (size_t d = 0; d < runs.size(); ++d) extents.push_back(grid.Extent(d, runs[d].chunk));
    const std::vector<int64_t> strides = order_->Strides(extents);
    int64_t from = 0;
    std::vector<CopyAxis> axes(runs.size());
    for (size_t d = 0; d < runs.size(); ++d) {
      from +=
          static_cast<int64_t>(selection_[d].At(runs[d].begin) - grid.Begin(d, runs[d].chunk)) *
          strides[d];
      axes[d] = {runs[d].count, selection_[d].step * strides[d], out_strides[d]};
    }
    const auto slowest = axes.begin() + static_cast<std::ptrdiff_t>(order_->key());
    std::rotate(axes.begin(), slowest, slowest + 1);
    return CopyFromSpill(NumberOf(runs), static_cast<uint64_t>(from), axes, to, order_->key());
  }

  bool CopyFromSpill(uint64_t chunk, uint64_t from, std::span<const CopyAxis> axes,
                     std::byte* to, size_t key = 0) const {
    const cache::ChunkSpill* const spill = reader_->spill();
    if (spill == nullptr || spill->empty()) return false;
    const auto copy = [&](const cache::ChunkSpill::ReadAt& read_at) {
      const auto read = [&](uint64_t offset, ByteSpan out) -> Result<void> {
        if (read_at(offset, out)) return {};
        return model::NotFound("not on disk");
      };
      return CopyPieces(read, static_cast<int64_t>(from), axes, to).has_value();
    };
    return spill->Read(chunk, copy, key);
  }

  // Where nothing is decoded, the elements are read where they are: in one piece where they lie
  // close together, else row by row.
  Result<void> CopyFromFile(const Box& box, std::byte* to, ReadHint hint) const {
    std::vector<CopyAxis> axes(box.count.size());
    int64_t from = 0;
    for (size_t d = box.count.size(); d-- > 0;) {
      axes[d] = {box.count[d], selection_[d].step * strides_[d], box.strides[d]};
      from += Place(d, box.begin[d]);
    }
    const auto read = [&](uint64_t offset, ByteSpan out) {
      return reader_->Read(offset, out, ByteOrder::kLittle, hint);
    };
    return CopyPieces(read, from, axes, to);
  }

  // Copies from byte `from` of what `read(offset, out)` reads.
  template <typename Read>
  Result<void> CopyPieces(const Read& read, int64_t from, std::span<const CopyAxis> axes,
                          std::byte* to) const {
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
    if (between == wanted && IsInOrder(axes)) {
      return read(static_cast<uint64_t>(from), ByteSpan(to, wanted));
    }
    const bool is_close = between / kMostPerWanted <= wanted || between / kPage <= pieces;
    if (between <= kMostBetween && is_close) {
      Bytes bytes(between);
      NDLFS_RETURN_IF_ERROR(read(static_cast<uint64_t>(from + low), bytes.span()));
      Copy(bytes.data() - low, to, axes, item_);
      return {};
    }
    if (is_close && axes.size() == 1 && axes[0].count > 1) {
      CopyAxis half = axes[0];
      half.count /= 2;
      NDLFS_RETURN_IF_ERROR(CopyPieces(read, from, {&half, 1}, to));
      from += static_cast<int64_t>(half.count) * half.from;
      to += static_cast<int64_t>(half.count) * half.to;
      half.count = axes[0].count - half.count;
      return CopyPieces(read, from, {&half, 1}, to);
    }
    for (uint64_t i = 0; i < axes[0].count; ++i, from += axes[0].from, to += axes[0].to) {
      NDLFS_RETURN_IF_ERROR(CopyPieces(read, from, axes.subspan(1), to));
    }
    return {};
  }

  // Whether elements that lie next to each other are copied in their order, and next to each
  // other.
  bool IsInOrder(std::span<const CopyAxis> axes) const {
    auto stride = static_cast<int64_t>(item_);
    for (size_t d = axes.size(); d-- > 0;) {
      if (axes[d].count == 1) continue;
      if (axes[d].from < 0 || axes[d].to != stride) return false;
      stride *= static_cast<int64_t>(axes[d].count);
    }
    return true;
  }

  const std::shared_ptr<const ArrayReader> reader_;
  const Selection selection_;
  const std::vector<size_t> axes_;
  const std::string name_;
  const uint64_t item_;
  const uint64_t size_;
  const bool decodes_;
  Coordinates shape_;                         // of the part, in its order, with what is dropped
  std::vector<int64_t> strides_;              // of the array, in bytes
  std::shared_ptr<ElementWindow> window_;     // null: elements are copied as they are read
  std::shared_ptr<const TurnedOrder> order_;  // of chunks on disk; null: C order
};

// Has the chunks decoded that a reader who goes forward comes to next, and only these: between
// them may lie many that the part has nothing of.
class SliceTracker final : public ReadTracker {
 public:
  SliceTracker(std::shared_ptr<const SliceElements> elements, cache::Prefetcher& prefetcher)
      : elements_(std::move(elements)), stream_(prefetcher, elements_->reader()) {}
  ~SliceTracker() override { ForgetNeed(*elements_->reader(), this); }

  ReadHint OnRead(uint64_t offset, uint64_t size) override {
    // The kernel's read-ahead may come so late.
    constexpr uint64_t kLateBytes = uint64_t{2} << 20;
    elements_->TellNeed(this, offset - std::min(offset, kLateBytes));
    // The first is decoded by the reader itself.
    std::vector<uint64_t> places = elements_->ChunksOf(offset, 2 * size, ChunksAhead() + 1);
    const model::MutexLock lock(mutex_);
    if (places == expected_) return ReadHint::kOnward;
    for (size_t i = 1; i < places.size(); ++i) stream_.Expect(places[i]);
    expected_ = std::move(places);
    return ReadHint::kOnward;
  }
  void Expect(uint64_t offset) override {
    for (const uint64_t place : elements_->ChunksOf(offset, 1, 1)) stream_.Expect(place);
  }

 private:
  // A read across the grain needs many.
  size_t ChunksAhead() const {
    constexpr uint64_t kFew = 4;
    constexpr uint64_t kMany = 64;
    const ArrayReader& reader = *elements_->reader();
    return std::clamp(reader.cache_budget() / 8 / reader.max_chunk_bytes(), kFew, kMany);
  }

  const std::shared_ptr<const SliceElements> elements_;
  cache::ReadStream stream_;
  model::Mutex mutex_;
  std::vector<uint64_t> expected_ GUARDED_BY(mutex_);  // the last chunks that were asked for
};

class NothingToTrack final : public ReadTracker {
 public:
  ReadHint OnRead(uint64_t, uint64_t) override { return ReadHint::kAlone; }
};

std::unique_ptr<ReadTracker> SliceElements::TrackReader(cache::Prefetcher& prefetcher) const {
  if (!decodes_ || size_ == 0) return std::make_unique<NothingToTrack>();
  return std::make_unique<SliceTracker>(std::make_shared<const SliceElements>(*this),
                                        prefetcher);
}

}  // namespace

Result<std::shared_ptr<const ElementSource>> MakeSliceElements(
    std::shared_ptr<const ArrayReader> reader, Selection selection, std::string name,
    std::vector<size_t> axes) {
  const backends::ArraySpec& spec = reader->spec();
  if (!spec.dtype.is_fixed_size()) return model::Internal("elements of variable size");
  if (selection.size() != spec.shape.size()) return model::Internal("a slice of another array");
  if (axes.empty()) {
    for (size_t d = 0; d < selection.size(); ++d) axes.push_back(d);
  }
  if (axes.size() != selection.size()) return model::Internal("axes of another array");
  if (reader->byte_size() > backends::kMaxViewSize) {
    return model::Limit("an array of more than {} bytes", backends::kMaxViewSize);
  }
  uint64_t count = 1;  // no overflow: sources have checked that of all elements
  for (const IndexRange& range : selection) count *= range.count;
  const auto bytes = backends::CheckedProduct(std::vector{count}, spec.dtype.size());
  if (!bytes || *bytes > backends::kMaxViewSize) {
    return model::Limit("more than {} bytes of elements", backends::kMaxViewSize);
  }
  return std::make_shared<const SliceElements>(std::move(reader), std::move(selection),
                                               std::move(axes), count, std::move(name));
}

}  // namespace ndlfs::fs
