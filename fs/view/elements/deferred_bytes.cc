// SPDX-License-Identifier: MIT
#include "fs/view/elements/deferred_bytes.h"

#include <cstring>

namespace ndlfs::fs {
namespace {

using backends::ByteSpan;
using model::Result;

// There is nothing to decode ahead.
class NoTracker final : public ReadTracker {
 public:
  cache::ReadHint OnRead(uint64_t, uint64_t) override { return cache::ReadHint::kOnward; }
};

class ComputedBytes final : public ElementSource {
 public:
  using Reader = std::function<Result<void>(uint64_t, ByteSpan)>;
  ComputedBytes(uint64_t size, Reader read, uint64_t held_bytes)
      : size_(size), read_(std::move(read)), held_bytes_(held_bytes) {}

  uint64_t size() const override { return size_; }
  uint64_t held_bytes() const override { return held_bytes_; }
  Result<void> Read(uint64_t offset, ByteSpan out, model::ByteOrder,
                    cache::ReadHint) const override {
    return read_(offset, out);
  }
  std::unique_ptr<ReadTracker> TrackReader(cache::Prefetcher&) const override {
    return std::make_unique<NoTracker>();
  }

 private:
  const uint64_t size_;
  const Reader read_;
  const uint64_t held_bytes_;
};

}  // namespace

Elements MakeComputedBytes(uint64_t size, std::function<Result<void>(uint64_t, ByteSpan)> read,
                           uint64_t held_bytes) {
  return AllOf(std::make_shared<const ComputedBytes>(size, std::move(read), held_bytes));
}

Elements MakeDeferredBytes(uint64_t size, std::function<Result<std::string>()> make) {
  constexpr uint64_t kMostKept = 4096;
  const auto checked = [make = std::move(make), size]() -> Result<std::string> {
    NDLFS_TRY(std::string made, make());
    if (made.size() == size) return made;
    return model::Internal("a header of {} bytes, not {}", made.size(), size);
  };
  if (size > kMostKept) {
    return MakeComputedBytes(size, [checked](uint64_t offset, ByteSpan out) -> Result<void> {
      NDLFS_TRY(const std::string made, checked());
      std::memcpy(out.data(), made.data() + offset, out.size());
      return {};
    });
  }
  const auto bytes = std::make_shared<const Deferred<std::string>>(checked);
  const auto read = [bytes](uint64_t offset, ByteSpan out) -> Result<void> {
    NDLFS_TRY(const auto made, bytes->Get());
    std::memcpy(out.data(), made->data() + offset, out.size());
    return {};
  };
  return MakeComputedBytes(size, read, size);
}

}  // namespace ndlfs::fs
