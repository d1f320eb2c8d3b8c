// SPDX-License-Identifier: MIT
#include "fs/view/deferred_bytes.h"

#include <cstring>

namespace ndlfs::fs {
namespace {

using backends::ByteSpan;
using model::Result;

// There is nothing to decode ahead.
class NoTracker final : public ReadTracker {
 public:
  cache::Access OnRead(uint64_t, uint64_t) override { return cache::Access::kOnward; }
};

class ComputedBytes final : public ElementSource {
 public:
  using Reader = std::function<Result<void>(uint64_t, ByteSpan)>;
  ComputedBytes(uint64_t size, Reader read) : size_(size), read_(std::move(read)) {}

  uint64_t size() const override { return size_; }
  Result<void> Read(uint64_t offset, ByteSpan out, model::ByteOrder,
                    cache::Access) const override {
    return read_(offset, out);
  }
  std::unique_ptr<ReadTracker> TrackReader(cache::Prefetcher&) const override {
    return std::make_unique<NoTracker>();
  }

 private:
  const uint64_t size_;
  const Reader read_;
};

}  // namespace

Elements MakeComputedBytes(uint64_t size,
                           std::function<Result<void>(uint64_t, ByteSpan)> read) {
  return AllOf(std::make_shared<const ComputedBytes>(size, std::move(read)));
}

Elements MakeDeferredBytes(uint64_t size, std::function<Result<std::string>()> make) {
  const auto bytes = std::make_shared<const Deferred<std::string>>(std::move(make));
  return MakeComputedBytes(size, [=](uint64_t offset, ByteSpan out) -> Result<void> {
    NDLFS_TRY(const auto made, bytes->Get());
    if (made->size() != size) {
      return model::Internal("a header of {} bytes, not {}", made->size(), size);
    }
    std::memcpy(out.data(), made->data() + offset, out.size());
    return {};
  });
}

}  // namespace ndlfs::fs
