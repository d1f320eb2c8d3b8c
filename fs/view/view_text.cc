// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "fs/view/streamed_view.h"
#include "fs/view/text_layout.h"
#include "fs/view/view_kinds.h"

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
std::optional<Text> LayOut(const backends::ArraySpec& spec) {
  std::vector<uint64_t> shape = spec.shape;
  const model::Datatype* type = &spec.dtype;
  for (; type->kind() == model::Datatype::Kind::kArray; type = &type->base()) {
    shape.insert(shape.end(), type->shape().begin(), type->shape().end());
  }
  auto layout = TextLayout::Make(*type);
  if (!layout) return std::nullopt;
  const auto size = backends::CheckedProduct(shape, layout->line_size());
  if (!size || *size > backends::kMaxViewSize) return std::nullopt;
  return Text{*std::move(layout), type->size(), *size};
}

class LinesView final : public StreamableView {
 public:
  LinesView(Text text, std::shared_ptr<const cache::ArrayReader> reader)
      : StreamableView(std::move(reader)),
        layout_(std::move(text.layout)),
        element_size_(text.element_size),
        size_(text.size) {}

  std::optional<uint64_t> size() const override { return size_; }

  model::Result<size_t> ReadElements(uint64_t offset, ByteSpan out,
                                     cache::Access access) const override {
    if (offset >= size_) return size_t{0};
    out = out.first(std::min<uint64_t>(out.size(), size_ - offset));
    std::vector<std::byte> elements;
    for (size_t done = 0; done < out.size();) {
      NDLFS_TRY(const size_t count,
                ReadBatch(offset + done, out.subspan(done), access, elements));
      done += count;
    }
    return out.size();
  }

  ElementRange ElementsOf(uint64_t offset, uint64_t count) const override {
    const uint64_t end = std::min(offset + count, size_);
    if (offset >= end) return {};
    const uint64_t first = offset / layout_.line_size();
    const uint64_t last = (end - 1) / layout_.line_size();
    return {first * element_size_, (last - first + 1) * element_size_};
  }

 private:
  // Writes the lines of the next few elements, or what is wanted of them.
  model::Result<size_t> ReadBatch(uint64_t offset, ByteSpan out, cache::Access access,
                                  std::vector<std::byte>& elements) const {
    const uint64_t most =
        std::max<uint64_t>(1, kBatchBytes / std::max<size_t>(1, element_size_)) *
        layout_.line_size();
    const uint64_t skip = offset % layout_.line_size();
    out = out.first(std::min<uint64_t>(out.size(), most - skip));
    const ElementRange range = ElementsOf(offset, out.size());
    elements.resize(range.size);
    NDLFS_RETURN_IF_ERROR(
        reader().Read(range.begin, elements, model::ByteOrder::kLittle, access));
    Format(elements, skip, out);
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

  const TextLayout layout_;
  const size_t element_size_;
  const uint64_t size_;
};

class TextViewKind final : public ViewKind {
 public:
  std::string_view file_name() const override { return "data.txt"; }
  bool AppliesTo(const backends::ArraySpec& spec) const override {
    return LayOut(spec).has_value();
  }
  model::Result<std::shared_ptr<const View>> Make(const ViewInput& input) const override {
    const backends::ArraySpec& spec = input.reader->spec();
    auto text = LayOut(spec);
    if (!text) return model::Limit("no text of elements of type {}", spec.dtype.keyword());
    return std::make_shared<const LinesView>(*std::move(text), input.reader);
  }
};

}  // namespace

const ViewKind& TextView() {
  static const TextViewKind kind;
  return kind;
}

}  // namespace ndlfs::fs
