// SPDX-License-Identifier: MIT
#include "fs/view/container/zarr_tree.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>
#include <string_view>

#include "fs/view/elements/segmented_view.h"

namespace ndlfs::fs::zarr {
namespace {

using backends::ByteSpan;
using model::Result;
using ArrayPtr = std::shared_ptr<const StoredArray>;
using Index = std::vector<uint64_t>;

constexpr std::string_view kMetadataName = "zarr.json";
constexpr std::string_view kChunksName = "c";

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

// One chunk. It is read in rows: runs of elements that follow each other in the array, too,
// with fill values behind them at the edge of the array.
class ChunkView final : public View {
 public:
  ChunkView(ArrayPtr array, const Index& index) : array_(std::move(array)) {
    const Index& shape = array_->shape;
    const Index& chunk = array_->chunk_shape;
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
  Index begin_;                        // of the chunk in the array
  size_t row_ = array_->shape.size();  // the dimension that rows go along
  uint64_t step_ = 0;                  // bytes from one index along it to the next
  uint64_t row_bytes_ = 0;
  uint64_t stored_bytes_ = 0;  // of a row that is not outside
  uint64_t size_ = 0;
};

Result<ViewNode> MakeChunk(const ArrayPtr& array, const Index& index) {
  // A reader of the whole array is followed, and chunks are decoded ahead.
  if (array->chunk_shape == array->shape) return MakeSegmentedView({AllOf(array->elements)});
  return std::make_shared<const ChunkView>(array, index);
}

// The chunks whose first indices are `begin`.
class ChunkDirectory final : public ViewDirectory {
 public:
  ChunkDirectory(ArrayPtr array, Index begin)
      : array_(std::move(array)), begin_(std::move(begin)) {}

  uint64_t entry_count() const override {
    const size_t d = begin_.size();
    const uint64_t extent = array_->shape[d];
    const uint64_t chunk = array_->chunk_shape[d];
    return extent / chunk + (extent % chunk != 0 ? 1 : 0);
  }
  ViewEntry EntryAt(uint64_t i) const override { return {std::to_string(i), !is_last()}; }
  Result<ViewNode> Find(std::string_view name) const override {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    const bool is_number = error == std::errc() && end == name.data() + name.size();
    if (!is_number || number >= entry_count() || std::to_string(number) != name) {
      return model::NotFound("{}", name);
    }
    Index index = begin_;
    index.push_back(number);
    if (is_last()) return MakeChunk(array_, index);
    return std::make_shared<const ChunkDirectory>(array_, std::move(index));
  }

 private:
  bool is_last() const { return begin_.size() + 1 == array_->shape.size(); }

  const ArrayPtr array_;
  const Index begin_;
};

class ArrayDirectory final : public ViewDirectory {
 public:
  explicit ArrayDirectory(StoredArray array)
      : array_(std::make_shared<const StoredArray>(std::move(array))) {}

  uint64_t entry_count() const override { return 2; }
  ViewEntry EntryAt(uint64_t i) const override {
    if (i == 0) return {std::string(kMetadataName), false};
    return {std::string(kChunksName), !array_->shape.empty()};
  }
  Result<ViewNode> Find(std::string_view name) const override {
    if (name == kMetadataName) return MakeSegmentedView({Literal(array_->metadata)});
    if (name != kChunksName) return model::NotFound("{}", name);
    if (array_->shape.empty()) return MakeChunk(array_, {});
    return std::make_shared<const ChunkDirectory>(array_, Index());
  }
  uint64_t held_bytes() const override {
    return array_->metadata.capacity() + array_->elements->held_bytes();
  }

 private:
  const ArrayPtr array_;
};

class GroupDirectory final : public ViewDirectory {
 public:
  GroupDirectory(std::string metadata, Children children)
      : metadata_(std::move(metadata)), children_(std::move(children)) {}

  uint64_t entry_count() const override { return 1 + children_.size(); }
  ViewEntry EntryAt(uint64_t i) const override {
    if (i == 0) return {std::string(kMetadataName), false};
    return {children_[i - 1].first, true};
  }
  Result<ViewNode> Find(std::string_view name) const override {
    if (name == kMetadataName) return MakeSegmentedView({Literal(metadata_)});
    const auto child =
        std::ranges::lower_bound(children_, name, {}, &Children::value_type::first);
    if (child == children_.end() || child->first != name) return model::NotFound("{}", name);
    return child->second;
  }
  uint64_t held_bytes() const override {
    uint64_t bytes = metadata_.capacity();
    for (const auto& [name, directory] : children_) {
      constexpr uint64_t kAlways = 512;
      bytes += kAlways + name.capacity() + directory->held_bytes();
    }
    return bytes;
  }

 private:
  const std::string metadata_;
  const Children children_;
};

}  // namespace

ViewDirectoryPtr MakeArrayDirectory(StoredArray array) {
  return std::make_shared<const ArrayDirectory>(std::move(array));
}

ViewDirectoryPtr MakeGroupDirectory(std::string metadata, Children children) {
  return std::make_shared<const GroupDirectory>(std::move(metadata), std::move(children));
}

}  // namespace ndlfs::fs::zarr
