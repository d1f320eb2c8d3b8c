// SPDX-License-Identifier: MIT
#include "fs/view/element_source.h"

#include <utility>

#include "backends/base/checked.h"

namespace ndlfs::fs {
namespace {

class ArrayTracker final : public ReadTracker {
 public:
  ArrayTracker(cache::Prefetcher& prefetcher, std::shared_ptr<const cache::ArrayReader> reader)
      : stream_(prefetcher, std::move(reader)) {}

  cache::Access OnRead(uint64_t offset, uint64_t size) override {
    return stream_.OnRead(offset, size);
  }
  void Expect(uint64_t offset) override { stream_.Expect(offset); }

 private:
  cache::ReadStream stream_;
};

class ArrayElements final : public ElementSource {
 public:
  ArrayElements(std::shared_ptr<const cache::ArrayReader> reader, std::string name)
      : reader_(std::move(reader)), name_(std::move(name)) {}

  uint64_t size() const override { return reader_->byte_size(); }
  model::Result<void> Read(uint64_t offset, backends::ByteSpan out, model::ByteOrder order,
                           cache::Access access) const override {
    auto read = reader_->Read(offset, out, order, access);
    if (read || name_.empty()) return read;
    return model::Propagate(std::move(read).error(), name_);
  }
  std::unique_ptr<ReadTracker> TrackReader(cache::Prefetcher& prefetcher) const override {
    return std::make_unique<ArrayTracker>(prefetcher, reader_);
  }

 private:
  const std::shared_ptr<const cache::ArrayReader> reader_;
  const std::string name_;
};

}  // namespace

model::Result<std::shared_ptr<const ElementSource>> MakeArrayElements(
    std::shared_ptr<const cache::ArrayReader> reader, std::string name) {
  const backends::ArraySpec& spec = reader->spec();
  if (!spec.dtype.is_fixed_size()) return model::Internal("elements of variable size");
  const auto bytes = backends::CheckedProduct(spec.shape, spec.dtype.size());
  if (!bytes || *bytes > backends::kMaxViewSize) {
    return model::Limit("more than {} bytes of elements", backends::kMaxViewSize);
  }
  return std::make_shared<const ArrayElements>(std::move(reader), std::move(name));
}

}  // namespace ndlfs::fs
