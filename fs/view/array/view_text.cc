// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "fs/view/array/views.h"
#include "fs/view/base/text_layout.h"
#include "fs/view/elements/segmented_view.h"

namespace ndlfs::fs {
namespace {

using backends::ByteSpan;
using backends::ConstByteSpan;

// Elements are read this many bytes at a time (but one at least).
constexpr size_t kBatchBytes = size_t{128} << 10;

// The text of all of an array.
struct Text {
  TextLayout layout;
  size_t element_size;  // bytes of what has a line
  uint64_t size;
};

// nullopt where there is none. An element that is an array is as many elements,
// here as in data.npy.
std::optional<Text> LayOut(const ArrayInput& input) {
  std::vector<uint64_t> shape = input.shape;
  const model::Datatype* type = &input.dtype;
  for (; type->kind() == model::Datatype::Kind::kArray; type = &type->base()) {
    shape.insert(shape.end(), type->shape().begin(), type->shape().end());
  }
  auto layout = TextLayout::Make(*type);
  if (!layout) return std::nullopt;
  const auto size = backends::CheckedProduct(shape, layout->line_size());
  if (!size || *size > backends::kMaxViewSize) return std::nullopt;
  return Text{*std::move(layout), type->size(), *size};
}

// The lines of the elements of another source.
class TextLines final : public ElementSource {
 public:
  TextLines(Text text, std::shared_ptr<const ElementSource> elements)
      : elements_(std::move(elements)),
        layout_(std::move(text.layout)),
        element_size_(text.element_size),
        size_(text.size) {}

  uint64_t size() const override { return size_; }

  // Text has no byte order.
  model::Result<void> Read(uint64_t offset, ByteSpan out, model::ByteOrder,
                           cache::ReadHint hint) const override {
    std::vector<std::byte> batch;
    while (!out.empty()) {
      NDLFS_TRY(const size_t count, ReadBatch(offset, out, hint, batch));
      out = out.subspan(count);
      offset += count;
    }
    return {};
  }

  model::Result<void> VisitChunks(const ChunkVisitor& visit) const override {
    return elements_->VisitChunks(visit);
  }
  std::unique_ptr<ReadTracker> TrackReader(cache::Prefetcher& prefetcher) const override {
    return TrackElements(elements_->TrackReader(prefetcher), element_size_,
                         layout_.line_size());
  }

 private:
  // Writes the lines of the next few elements, or what is wanted of them.
  model::Result<size_t> ReadBatch(uint64_t offset, ByteSpan out, cache::ReadHint hint,
                                  std::vector<std::byte>& batch) const {
    const size_t line_size = layout_.line_size();
    const uint64_t most =
        std::max<uint64_t>(1, kBatchBytes / std::max<size_t>(1, element_size_)) * line_size;
    const uint64_t skip = offset % line_size;
    out = out.first(std::min<uint64_t>(out.size(), most - skip));
    const uint64_t first = offset / line_size;
    const uint64_t last = (offset + out.size() - 1) / line_size;
    batch.resize((last - first + 1) * element_size_);
    NDLFS_RETURN_IF_ERROR(
        elements_->Read(first * element_size_, batch, model::ByteOrder::kLittle, hint));
    Format(batch, skip, out);
    return out.size();
  }

  // The lines of `elements` without the first `skip` bytes, until `out` is full.
  void Format(ConstByteSpan elements, size_t skip, ByteSpan out) const {
    const size_t line_size = layout_.line_size();
    std::vector<char> part;
    while (!out.empty()) {
      const ConstByteSpan element = elements.first(element_size_);
      elements = elements.subspan(element_size_);
      const size_t count = std::min(out.size(), line_size - skip);
      if (count == line_size) {
        layout_.Format(element, reinterpret_cast<char*>(out.data()));
      } else {
        part.resize(line_size);
        layout_.Format(element, part.data());
        std::memcpy(out.data(), part.data() + skip, count);
      }
      out = out.subspan(count);
      skip = 0;
    }
  }

  const std::shared_ptr<const ElementSource> elements_;
  const TextLayout layout_;
  const size_t element_size_;
  const uint64_t size_;
};

}  // namespace

const ArrayViewKind kTextView = {
    .file_name = "data.txt",
    .description = "text, an element a line",
    .is_text = true,
    .applies_to = [](const ArrayInput& input) { return LayOut(input).has_value(); },
    .refuse = &RefuseWithoutElements,
    .size = [](const ArrayInput& input) -> std::optional<uint64_t> {
      return LayOut(input)->size;
    },
    .make = [](const ArrayInput& input) -> model::Result<ViewNode> {
      auto text = LayOut(input);
      if (!text) return model::Limit("no text of elements of type {}", input.dtype.keyword());
      if (auto refusal = RefuseWithoutElements(input)) return model::Propagate(*refusal);
      return MakeSegmentedView(
          {AllOf(std::make_shared<const TextLines>(*std::move(text), input.elements))});
    },
};

}  // namespace ndlfs::fs
