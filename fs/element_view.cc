// SPDX-License-Identifier: MIT
#include "fs/element_view.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/checked.h"

namespace ndlfs::fs {
namespace {

class ElementView final : public View, public std::enable_shared_from_this<ElementView> {
 public:
  ElementView(std::string header, std::shared_ptr<const cache::ArrayReader> reader)
      : header_(std::move(header)),
        reader_(std::move(reader)),
        size_(header_.size() + reader_->byte_size()) {}

  std::optional<uint64_t> size() const override { return size_; }

  model::Result<size_t> Read(uint64_t offset, backends::ByteSpan out) const override {
    if (offset >= size_) return size_t{0};
    out = out.first(std::min<uint64_t>(out.size(), size_ - offset));
    const size_t from_header = CopyHeader(offset, out);
    const backends::ByteSpan rest = out.subspan(from_header);
    if (!rest.empty()) {
      NDLFS_RETURN_IF_ERROR(reader_->Read(offset + from_header - header_.size(), rest));
    }
    return out.size();
  }

  std::shared_ptr<const View> ForReader(cache::Prefetcher& prefetcher) const override;

  // Tells of a read at `offset` of the file.
  void Announce(cache::ReadStream& stream, uint64_t offset, uint64_t count) const {
    const uint64_t end = std::min(offset + count, size_);
    const uint64_t begin = std::max<uint64_t>(offset, header_.size());
    if (begin < end) stream.OnRead(begin - header_.size(), end - begin);
  }

 private:
  size_t CopyHeader(uint64_t offset, backends::ByteSpan out) const {
    if (offset >= header_.size()) return 0;
    const size_t count = std::min<size_t>(out.size(), header_.size() - offset);
    std::memcpy(out.data(), header_.data() + offset, count);
    return count;
  }

  const std::string header_;
  const std::shared_ptr<const cache::ArrayReader> reader_;
  const uint64_t size_;
};

// An element view as one open file reads it.
class StreamedView final : public View {
 public:
  StreamedView(std::shared_ptr<const ElementView> view,
               std::shared_ptr<const cache::ArrayReader> reader, cache::Prefetcher& prefetcher)
      : view_(std::move(view)), stream_(prefetcher, std::move(reader)) {}

  std::optional<uint64_t> size() const override { return view_->size(); }
  model::Result<size_t> Read(uint64_t offset, backends::ByteSpan out) const override {
    view_->Announce(stream_, offset, out.size());
    return view_->Read(offset, out);
  }

 private:
  const std::shared_ptr<const ElementView> view_;
  mutable cache::ReadStream stream_;
};

std::shared_ptr<const View> ElementView::ForReader(cache::Prefetcher& prefetcher) const {
  return std::make_shared<const StreamedView>(shared_from_this(), reader_, prefetcher);
}

}  // namespace

model::Result<std::shared_ptr<const View>> MakeElementView(
    std::string header, std::shared_ptr<const cache::ArrayReader> reader) {
  const auto bytes =
      backends::CheckedProduct(reader->spec().shape, reader->spec().dtype.size());
  if (!bytes || *bytes > backends::kMaxViewSize - header.size()) {
    return model::Limit("more than {} bytes of elements", backends::kMaxViewSize);
  }
  return std::make_shared<const ElementView>(std::move(header), std::move(reader));
}

}  // namespace ndlfs::fs
