// SPDX-License-Identifier: MIT
#include "fs/view/elements/sign_flip.h"

#include <array>
#include <cstring>
#include <utility>

namespace ndlfs::fs {
namespace {

using backends::ByteSpan;

class FlippedSigns final : public ElementSource {
 public:
  FlippedSigns(std::shared_ptr<const ElementSource> source, uint64_t width)
      : source_(std::move(source)), width_(width) {}

  uint64_t size() const override { return source_->size(); }
  model::Result<void> Read(uint64_t offset, ByteSpan out, model::ByteOrder order,
                           cache::ReadHint hint) const override {
    NDLFS_RETURN_IF_ERROR(source_->Read(offset, out, order, hint));
    Flip(offset, out, order);
    return {};
  }
  model::Result<void> VisitChunks(const ChunkVisitor& visit) const override {
    return source_->VisitChunks(visit);
  }
  std::unique_ptr<ReadTracker> TrackReader(cache::Prefetcher& prefetcher) const override {
    return source_->TrackReader(prefetcher);
  }

 private:
  // The pattern of eight bytes is the same everywhere, as the width divides 8; where it begins
  // depends on the offset.
  void Flip(uint64_t offset, ByteSpan out, model::ByteOrder order) const {
    std::array<std::byte, 8> pattern{};
    for (uint64_t i = 0; i < pattern.size(); ++i) {
      const uint64_t of_sign = order == model::ByteOrder::kBig ? 0 : width_ - 1;
      if ((offset + i) % width_ == of_sign) pattern[i] = std::byte{0x80};
    }
    uint64_t mask;
    std::memcpy(&mask, pattern.data(), sizeof mask);
    std::byte* at = out.data();
    const size_t words = out.size() / sizeof mask;
    for (size_t i = 0; i < words; ++i) {
      uint64_t word;
      std::memcpy(&word, at + i * sizeof word, sizeof word);
      word ^= mask;
      std::memcpy(at + i * sizeof word, &word, sizeof word);
    }
    for (size_t i = words * sizeof mask; i < out.size(); ++i) at[i] ^= pattern[i % 8];
  }

  const std::shared_ptr<const ElementSource> source_;
  const uint64_t width_;
};

}  // namespace

std::shared_ptr<const ElementSource> FlipSigns(std::shared_ptr<const ElementSource> source,
                                               uint64_t width) {
  return std::make_shared<const FlippedSigns>(std::move(source), width);
}

}  // namespace ndlfs::fs
