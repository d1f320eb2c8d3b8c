// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "backends/checked.h"
#include "fs/streamed_view.h"
#include "fs/text_layout.h"
#include "fs/view_kinds.h"

namespace ndlfs::fs {
namespace {

using backends::ByteSpan;
using backends::ConstByteSpan;

// Elements are read this many bytes at a time (but one at least).
constexpr size_t kBatchBytes = size_t{128} << 10;

std::optional<uint64_t> SizeOf(const TextLayout& layout, std::span<const uint64_t> shape) {
  const auto size = backends::CheckedProduct(shape, layout.line_size());
  return size && *size <= backends::kMaxViewSize ? size : std::nullopt;
}

class LinesView final : public StreamableView {
 public:
  LinesView(TextLayout layout, uint64_t size, std::shared_ptr<const cache::ArrayReader> reader)
      : StreamableView(std::move(reader)), layout_(std::move(layout)), size_(size) {}

  std::optional<uint64_t> size() const override { return size_; }

  model::Result<size_t> Read(uint64_t offset, ByteSpan out) const override {
    if (offset >= size_) return size_t{0};
    out = out.first(std::min<uint64_t>(out.size(), size_ - offset));
    std::vector<std::byte> elements;
    for (size_t done = 0; done < out.size();) {
      NDLFS_TRY(const size_t count, ReadBatch(offset + done, out.subspan(done), elements));
      done += count;
    }
    return out.size();
  }

  ElementRange ElementsOf(uint64_t offset, uint64_t count) const override {
    const uint64_t end = std::min(offset + count, size_);
    if (offset >= end) return {};
    const uint64_t first = offset / layout_.line_size();
    const uint64_t last = (end - 1) / layout_.line_size();
    return {first * element_size(), (last - first + 1) * element_size()};
  }

 private:
  size_t element_size() const { return reader().spec().dtype.size(); }

  // Writes the lines of the next few elements, or what is wanted of them.
  model::Result<size_t> ReadBatch(uint64_t offset, ByteSpan out,
                                  std::vector<std::byte>& elements) const {
    const uint64_t most =
        std::max<uint64_t>(1, kBatchBytes / std::max<size_t>(1, element_size())) *
        layout_.line_size();
    const uint64_t skip = offset % layout_.line_size();
    out = out.first(std::min<uint64_t>(out.size(), most - skip));
    const ElementRange range = ElementsOf(offset, out.size());
    elements.resize(range.size);
    NDLFS_RETURN_IF_ERROR(reader().Read(range.begin, elements));
    Format(elements, skip, out);
    return out.size();
  }

  // The lines of `elements` without the first `skip` bytes, until `out` is full.
  void Format(ConstByteSpan elements, size_t skip, ByteSpan out) const {
    const size_t line_size = layout_.line_size();
    std::vector<char> part;
    while (!out.empty()) {
      const ConstByteSpan element = elements.first(element_size());
      elements = elements.subspan(element_size());
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
  const uint64_t size_;
};

class TextViewKind final : public ViewKind {
 public:
  std::string_view file_name() const override { return "data.txt"; }
  bool AppliesTo(const backends::ArraySpec& spec) const override {
    const auto layout = TextLayout::Make(spec.dtype);
    return layout && SizeOf(*layout, spec.shape);
  }
  model::Result<std::shared_ptr<const View>> Make(const ViewInput& input) const override {
    const backends::ArraySpec& spec = input.reader->spec();
    auto layout = TextLayout::Make(spec.dtype);
    const auto size = layout ? SizeOf(*layout, spec.shape) : std::nullopt;
    if (!size) return model::Limit("no text of elements of type {}", spec.dtype.keyword());
    return std::make_shared<const LinesView>(*std::move(layout), *size, input.reader);
  }
};

}  // namespace

const ViewKind& TextView() {
  static const TextViewKind kind;
  return kind;
}

}  // namespace ndlfs::fs
