// SPDX-License-Identifier: MIT
#include "fs/view/element_view.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/base/checked.h"
#include "fs/view/streamed_view.h"

namespace ndlfs::fs {
namespace {

class ElementView final : public StreamableView {
 public:
  ElementView(std::string header, std::shared_ptr<const cache::ArrayReader> reader)
      : StreamableView(std::move(reader)),
        header_(std::move(header)),
        size_(header_.size() + this->reader().byte_size()) {}

  std::optional<uint64_t> size() const override { return size_; }

  model::Result<size_t> ReadElements(uint64_t offset, backends::ByteSpan out,
                                     cache::Access access) const override {
    if (offset >= size_) return size_t{0};
    out = out.first(std::min<uint64_t>(out.size(), size_ - offset));
    const size_t from_header = CopyHeader(offset, out);
    const backends::ByteSpan rest = out.subspan(from_header);
    if (!rest.empty()) {
      NDLFS_RETURN_IF_ERROR(reader().Read(offset + from_header - header_.size(), rest,
                                          model::ByteOrder::kLittle, access));
    }
    return out.size();
  }

  ElementRange ElementsOf(uint64_t offset, uint64_t count) const override {
    const uint64_t begin = std::max<uint64_t>(offset, header_.size());
    const uint64_t end = std::min(offset + count, size_);
    if (begin >= end) return {};
    return {begin - header_.size(), end - begin};
  }

 private:
  size_t CopyHeader(uint64_t offset, backends::ByteSpan out) const {
    if (offset >= header_.size()) return 0;
    const size_t count = std::min<size_t>(out.size(), header_.size() - offset);
    std::memcpy(out.data(), header_.data() + offset, count);
    return count;
  }

  const std::string header_;
  const uint64_t size_;
};

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
