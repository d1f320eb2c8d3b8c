// SPDX-License-Identifier: MIT
#include "fs/view/container/zarr_chunks.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "backends/base/element_stream.h"
#include "backends/format/stored_chunks.h"
#include "cache/array_reader.h"
#include "cache/strided_copy.h"
#include "fs/view/container/zarr_stored.h"
#include "fs/view/elements/element_window.h"
#include "fs/view/elements/segmented_view.h"
#include "fs/view/elements/slice_elements.h"

namespace ndlfs::fs::zarr {
namespace {

using backends::ByteSpan;
using backends::ConstByteSpan;
using model::Result;
using ArrayPtr = std::shared_ptr<const StoredArray>;
using ReaderPtr = std::shared_ptr<const cache::ArrayReader>;
using ChunkIndex = std::vector<uint64_t>;

uint64_t ProductOf(std::span<const uint64_t> extents) {
  uint64_t product = 1;
  for (const uint64_t extent : extents) product *= extent;
  return product;
}

// Fills `out` with `element` again and again, from byte `phase` of it on.
void FillWith(std::span<const std::byte> element, uint64_t phase, ByteSpan out) {
  for (size_t done = 0; done < out.size();) {
    const size_t begin = (phase + done) % element.size();
    const size_t count = std::min(element.size() - begin, out.size() - done);
    std::memcpy(out.data() + done, element.data() + begin, count);
    done += count;
  }
}

// The reader of the source. May load the array again.
Result<ReaderPtr> ReaderOf(const StoredArray& array) {
  if (array.source.reader != nullptr) return array.source.reader;
  return array.source.stored->Reader();
}

template <typename T>
Result<T> InArray(const StoredArray& array, Result<T> result) {
  if (result || array.name.empty()) return result;
  return model::Propagate(std::move(result).error(), array.name);
}

// Whether the chunk at `index` has nothing outside of the array.
bool IsInside(const StoredArray& array, std::span<const uint64_t> index) {
  for (size_t d = 0; d < index.size(); ++d) {
    if ((index[d] + 1) * array.chunk_shape[d] > array.shape[d]) return false;
  }
  return true;
}

// A chunk that is a chunk of the source, decoded.
class WholeChunk final : public View {
 public:
  WholeChunk(ArrayPtr array, ReaderPtr reader, std::span<const uint64_t> index)
      : array_(std::move(array)),
        reader_(std::move(reader)),
        number_(SourceNumber(*array_, index)),
        size_(ProductOf(array_->chunk_shape) * array_->fill.size()) {}

  std::optional<uint64_t> size() const override { return size_; }
  Result<std::optional<ReadCost>> FindCost() const override {
    NDLFS_TRY(const auto cost, InArray(*array_, reader_->CostOf(number_)));
    return ReadCost{.chunks = 1,
                    .kept = cost.is_kept ? uint64_t{1} : 0,
                    .fetched_bytes = cost.fetched_bytes,
                    .decoded_bytes = cost.decoded_bytes};
  }
  Result<size_t> Read(uint64_t offset, ByteSpan out) const override {
    if (offset >= size_) return size_t{0};
    out = out.first(std::min<uint64_t>(out.size(), size_ - offset));
    NDLFS_TRY(const auto chunk, InArray(*array_, reader_->Load(number_)));
    if (chunk->empty()) {
      FillWith(array_->fill, offset, out);
    } else {
      if (chunk->size() != size_) return model::Internal("a chunk of {} bytes", chunk->size());
      std::memcpy(out.data(), chunk->data() + offset, out.size());
    }
    return out.size();
  }

 private:
  const ArrayPtr array_;
  const ReaderPtr reader_;
  const uint64_t number_;
  const uint64_t size_;
};

// A chunk that is read in rows: runs of elements that follow each other in the array, too, with
// fill values behind them at the edge of the array.
class RowsOfChunk final : public View {
 public:
  RowsOfChunk(ArrayPtr array, std::span<const uint64_t> index) : array_(std::move(array)) {
    const ChunkIndex& shape = array_->shape;
    const ChunkIndex& chunk = array_->chunk_shape;
    for (size_t d = 0; d < index.size(); ++d) begin_.push_back(index[d] * chunk[d]);
    // All dimensions behind the one of the rows are whole.
    while (row_ > 0 && chunk[row_ - 1] == shape[row_ - 1]) --row_;
    if (row_ > 0) --row_;
    const uint64_t element = array_->fill.size();
    const auto inner = std::span(chunk).subspan(std::min(row_ + 1, chunk.size()));
    const uint64_t step = ProductOf(inner) * element;
    row_bytes_ = chunk.empty() ? element : chunk[row_] * step;
    stored_bytes_ =
        chunk.empty() ? element : std::min(chunk[row_], shape[row_] - begin_[row_]) * step;
    step_ = step;
    size_ = ProductOf(chunk) * element;
  }

  std::optional<uint64_t> size() const override { return size_; }
  Result<size_t> Read(uint64_t offset, ByteSpan out) const override {
    if (offset >= size_) return size_t{0};
    out = out.first(std::min<uint64_t>(out.size(), size_ - offset));
    for (size_t done = 0; done < out.size();) {
      const uint64_t at = offset + done;
      const uint64_t in_row = at % row_bytes_;
      const size_t count = std::min<uint64_t>(out.size() - done, row_bytes_ - in_row);
      NDLFS_RETURN_IF_ERROR(ReadRow(at / row_bytes_, in_row, out.subspan(done, count)));
      done += count;
    }
    return out.size();
  }

 private:
  // Bytes of row `row` from `begin` on.
  Result<void> ReadRow(uint64_t row, uint64_t begin, ByteSpan out) const {
    const auto place = PlaceOf(row);
    const uint64_t stored = place && begin < stored_bytes_
                                ? std::min<uint64_t>(out.size(), stored_bytes_ - begin)
                                : 0;
    if (stored > 0) {
      NDLFS_RETURN_IF_ERROR(array_->elements->Read(*place + begin, out.first(stored),
                                                   model::ByteOrder::kLittle,
                                                   cache::ReadHint::kOnward));
    }
    FillWith(array_->fill, begin + stored, out.subspan(stored));
    return {};
  }

  // Where the row begins in the elements of the array; nullopt if it is outside.
  std::optional<uint64_t> PlaceOf(uint64_t row) const {
    uint64_t place = 0;
    uint64_t stride = 1;  // in bytes, of the dimension in front of those that are done
    if (!begin_.empty()) {
      place = begin_[row_] * step_;
      stride = array_->shape[row_] * step_;
    }
    for (size_t d = row_; d-- > 0;) {
      const uint64_t at = begin_[d] + row % array_->chunk_shape[d];
      if (at >= array_->shape[d]) return std::nullopt;
      place += at * stride;
      stride *= array_->shape[d];
      row /= array_->chunk_shape[d];
    }
    return place;
  }

  const ArrayPtr array_;
  ChunkIndex begin_;                   // of the chunk in the array
  size_t row_ = array_->shape.size();  // the dimension that rows go along
  uint64_t step_ = 0;                  // bytes from one index along it to the next
  uint64_t row_bytes_ = 0;
  uint64_t stored_bytes_ = 0;  // of a row that is not outside
  uint64_t size_ = 0;
};

// A chunk that is made at once, at the first read, and kept while there is room. If making it
// fails, because it takes too long for one read or somebody has interrupted it, the next read
// goes on where that one has stopped.
class BoxChunk final : public View {
 public:
  BoxChunk(ArrayPtr array, std::span<const uint64_t> index)
      : array_(std::move(array)),
        rows_(array_, index),
        size_(*rows_.size()),
        window_(size_, std::max<uint64_t>(1, size_)) {
    for (size_t d = 0; d < index.size(); ++d) {
      begin_.push_back(index[d] * array_->chunk_shape[d]);
      extents_.push_back(std::min(array_->chunk_shape[d], array_->shape[d] - begin_[d]));
    }
  }

  std::optional<uint64_t> size() const override { return size_; }
  uint64_t held_bytes() const override { return window_.held_bytes(); }
  uint64_t most_held_bytes() const override { return size_; }
  Result<size_t> Read(uint64_t offset, ByteSpan out) const override {
    if (offset >= size_) return size_t{0};
    out = out.first(std::min<uint64_t>(out.size(), size_ - offset));
    const auto make = [&](uint64_t begin, ByteSpan bytes) -> Result<void> {
      if (bytes.size() == size_) return MakeAll(bytes);
      NDLFS_TRY(const size_t count, rows_.Read(begin, bytes));
      return count == bytes.size() ? Result<void>() : model::Internal("a chunk ends early");
    };
    NDLFS_RETURN_IF_ERROR(window_.Read(offset, out, make));
    return out.size();
  }

 private:
  Result<void> MakeAll(ByteSpan out) const {
    BegunChunks::Begun begun = array_->begun->Take(begin_);
    if (begun.box.size() == 0) begun.box = backends::Bytes(ProductOf(extents_) * item());
    auto made = array_->source.boxes->ReadBox(begin_, extents_, begun.box.span(), begun.done);
    if (!made) {
      array_->begun->Keep(begin_, std::move(begun));
      return made;
    }
    if (begun.box.size() == out.size()) {
      std::memcpy(out.data(), begun.box.data(), out.size());
      return {};
    }
    FillWith(array_->fill, 0, out);
    cache::CopyBox(begun.box.data(), extents_, out.data(), array_->chunk_shape,
                   ChunkIndex(extents_.size()), item());
    return {};
  }
  size_t item() const { return array_->fill.size(); }

  const ArrayPtr array_;
  const RowsOfChunk rows_;
  const uint64_t size_;
  ChunkIndex begin_;    // of what is inside of the array
  ChunkIndex extents_;  // and its extents
  mutable ElementWindow window_;
};

// A chunk of texts, as vlen-utf8 and vlen-bytes write it: the number of elements, and for each
// one its length and its bytes, as in the element stream of the decoded chunk.
class TextChunk final : public View {
 public:
  TextChunk(ArrayPtr array, ReaderPtr reader, std::span<const uint64_t> index)
      : array_(std::move(array)),
        reader_(std::move(reader)),
        number_(SourceNumber(*array_, index)),
        count_(ProductOf(array_->chunk_shape)) {}

  std::optional<uint64_t> size() const override {
    const uint64_t size = size_.load(std::memory_order_relaxed);
    return size == 0 ? std::nullopt : std::optional(size);
  }
  Result<uint64_t> FindSize() const override {
    NDLFS_TRY(const auto chunk, Load());
    const uint64_t size = sizeof(uint32_t) + StreamBytes(*chunk);
    size_.store(size, std::memory_order_relaxed);
    return size;
  }
  uint64_t scan_bytes() const override {
    constexpr uint64_t kUsualText = 32;
    return size() ? 0 : kUsualText * count_;
  }
  Result<size_t> Read(uint64_t offset, ByteSpan out) const override {
    NDLFS_TRY(const auto chunk, Load());
    const uint64_t size = sizeof(uint32_t) + StreamBytes(*chunk);
    if (offset >= size) return size_t{0};
    out = out.first(std::min<uint64_t>(out.size(), size - offset));
    const auto count = static_cast<uint32_t>(count_);
    for (size_t done = 0; done < out.size();) {
      const uint64_t at = offset + done;
      if (at < sizeof count) {
        out[done++] = static_cast<std::byte>(count >> (8 * at));
        continue;
      }
      const ByteSpan rest = out.subspan(done);
      if (chunk->empty()) {
        FillWith(array_->fill, at - sizeof count, rest);
      } else {
        std::memcpy(rest.data(), chunk->data() + TableBytes() + at - sizeof count, rest.size());
      }
      break;
    }
    return out.size();
  }

 private:
  Result<cache::ChunkCache::Handle> Load() const {
    NDLFS_TRY(auto chunk, InArray(*array_, reader_->Load(number_)));
    if (!chunk->empty()) {
      const auto table = backends::ElementTable::Make({chunk->data(), chunk->size()}, count_);
      if (!table)
        return InArray(*array_,
                       Result<cache::ChunkCache::Handle>(model::Propagate(table.error())));
    }
    return chunk;
  }
  uint64_t TableBytes() const { return (count_ + 1) * sizeof(uint64_t); }
  uint64_t StreamBytes(const backends::Bytes& chunk) const {
    return chunk.empty() ? count_ * array_->fill.size() : chunk.size() - TableBytes();
  }

  const ArrayPtr array_;
  const ReaderPtr reader_;
  const uint64_t number_;
  const uint64_t count_;                   // of elements
  mutable std::atomic<uint64_t> size_{0};  // 0: not known yet
};

// A chunk of an array with other chunks than the source. Once one was opened, those of the
// source are kept for the next ones.
class OtherChunk final : public View {
 public:
  OtherChunk(ArrayPtr array, ReaderPtr reader, ViewPtr chunk)
      : array_(std::move(array)), reader_(std::move(reader)), chunk_(std::move(chunk)) {}

  std::optional<uint64_t> size() const override { return chunk_->size(); }
  uint64_t held_bytes() const override { return chunk_->held_bytes(); }
  uint64_t most_held_bytes() const override { return chunk_->most_held_bytes(); }
  Result<size_t> Read(uint64_t offset, ByteSpan out) const override {
    return chunk_->Read(offset, out);
  }
  Result<std::optional<ReadCost>> FindCost() const override { return chunk_->FindCost(); }
  std::shared_ptr<const View> ForReader(cache::Prefetcher& prefetcher) const override {
    array_->keeper->Keep(reader_);
    auto followed = chunk_->ForReader(prefetcher);
    return std::make_shared<const OtherChunk>(array_, reader_, followed ? followed : chunk_);
  }

 private:
  const ArrayPtr array_;
  const ReaderPtr reader_;
  const ViewPtr chunk_;
};

// The elements of a chunk that is inside of an array with other chunks.
Result<ViewPtr> MakeBox(const StoredArray& array, ReaderPtr reader,
                        std::span<const uint64_t> index) {
  Selection selection;
  for (size_t d = 0; d < array.source.rank; ++d) {
    selection.push_back({index[d] * array.chunk_shape[d], array.chunk_shape[d]});
  }
  NDLFS_TRY(auto elements,
            MakeSliceElements(std::move(reader), std::move(selection), array.name));
  return MakeSegmentedView({AllOf(std::move(elements))});
}

}  // namespace

BegunChunks::Begun BegunChunks::Take(const std::vector<uint64_t>& index) {
  const model::MutexLock lock(mutex_);
  const auto found = std::ranges::find(chunks_, index, &decltype(chunks_)::value_type::first);
  if (found == chunks_.end()) return {};
  Begun begun = std::move(found->second);
  chunks_.erase(found);
  return begun;
}

void BegunChunks::Keep(std::vector<uint64_t> index, Begun begun) {
  const model::MutexLock lock(mutex_);
  if (chunks_.size() == kMost) chunks_.pop_front();
  chunks_.emplace_back(std::move(index), std::move(begun));
}

uint64_t BegunChunks::held_bytes() const {
  const model::MutexLock lock(mutex_);
  uint64_t bytes = 0;
  for (const auto& chunk : chunks_) bytes += chunk.second.box.size();
  return bytes;
}

std::vector<uint64_t> ChunkCounts(const StoredArray& array) {
  std::vector<uint64_t> counts;
  for (size_t d = 0; d < array.shape.size(); ++d) {
    const uint64_t chunk = array.chunk_shape[d];
    counts.push_back(array.shape[d] / chunk + (array.shape[d] % chunk != 0 ? 1 : 0));
  }
  return counts;
}

uint64_t SourceNumber(const StoredArray& array, std::span<const uint64_t> index) {
  const std::vector<uint64_t> counts = ChunkCounts(array);
  uint64_t number = 0;
  for (size_t d = 0; d < array.source.rank; ++d) number = number * counts[d] + index[d];
  return number;
}

Result<bool> HasChunk(const StoredArray& array, std::span<const uint64_t> index) {
  if (!array.source.may_be_absent) return true;
  NDLFS_TRY(const ReaderPtr reader, ReaderOf(array));
  if (reader == nullptr) return true;
  auto stored = InArray(array, reader->IsStored(SourceNumber(array, index)));
  // Programs take a file that cannot be looked up for one that is absent, and show the fill
  // value in its place. So the file is there, and reading it tells what is wrong.
  if (!stored && !stored.error().is_transient()) return true;
  return stored;
}

Result<std::optional<std::vector<uint64_t>>> ListSourceChunks(const StoredArray& array) {
  constexpr size_t kMost = size_t{4} << 20;
  if (!array.source.may_be_absent) return std::nullopt;
  NDLFS_TRY(const ReaderPtr reader, ReaderOf(array));
  const auto* chunks =
      reader ? dynamic_cast<const backends::StoredChunks*>(&reader->source()) : nullptr;
  if (chunks == nullptr) return std::nullopt;
  return InArray(array, chunks->ListChunks(kMost));
}

Result<ViewPtr> MakeChunk(const ArrayPtr& array, std::span<const uint64_t> index) {
  if (array->source.is_stored) {
    NDLFS_TRY(ReaderPtr reader, ReaderOf(*array));
    return InArray(*array, MakeStoredChunk(array, std::move(reader), index));
  }
  if (array->elements == nullptr) {
    return std::make_shared<const TextChunk>(array, array->source.reader, index);
  }
  // Larger ones have no room in memory next to others.
  constexpr uint64_t kMostBox = uint64_t{16} << 20;
  const bool is_box = array->source.boxes != nullptr && !index.empty() &&
                      ProductOf(array->chunk_shape) * array->fill.size() <= kMostBox;
  if (is_box) {
    auto made = std::make_shared<const BoxChunk>(array, index);
    if (array->source.whole == nullptr || array->keeper == nullptr) return made;
    return std::make_shared<const OtherChunk>(array, array->source.whole, std::move(made));
  }
  // A reader of the whole array is followed, and chunks are decoded ahead.
  if (array->chunk_shape == array->shape) return MakeSegmentedView({AllOf(array->elements)});
  const bool is_elements = !array->source.is_converted && IsInside(*array, index);
  ReaderPtr reader;
  if (is_elements || !array->source.has_same_chunks) {
    NDLFS_TRY(reader, ReaderOf(*array));
  }
  ViewPtr chunk;
  if (is_elements && reader != nullptr && reader->has_chunks() &&
      reader->max_chunk_bytes() != 0) {
    if (array->source.has_same_chunks) {
      return std::make_shared<const WholeChunk>(array, std::move(reader), index);
    }
    NDLFS_TRY(chunk, MakeBox(*array, reader, index));
  }
  if (chunk == nullptr) chunk = std::make_shared<const RowsOfChunk>(array, index);
  if (reader == nullptr) reader = array->source.whole;
  if (array->source.has_same_chunks || reader == nullptr || array->keeper == nullptr) {
    return chunk;
  }
  return std::make_shared<const OtherChunk>(array, std::move(reader), std::move(chunk));
}

}  // namespace ndlfs::fs::zarr
