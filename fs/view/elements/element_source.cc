// SPDX-License-Identifier: MIT
#include "fs/view/elements/element_source.h"

#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "backends/format/stored_chunks.h"
#include "backends/store/cancellation.h"
#include "cache/array_reader.h"
#include "cache/prefetcher.h"

namespace ndlfs::fs {
namespace {

// An array may claim to have any number of chunks, of which few are stored. So nobody visits
// more than these.
constexpr uint64_t kMostChunks = uint64_t{1} << 20;

class ArrayTracker final : public ReadTracker {
 public:
  ArrayTracker(cache::Prefetcher& prefetcher, std::shared_ptr<const cache::ArrayReader> reader)
      : stream_(prefetcher, std::move(reader)) {}

  cache::ReadHint OnRead(uint64_t offset, uint64_t size) override {
    return stream_.OnRead(offset, size);
  }
  void Expect(uint64_t offset) override { stream_.Expect(offset); }

 private:
  cache::ReadStream stream_;
};

class ElementTracker final : public ReadTracker {
 public:
  ElementTracker(std::unique_ptr<ReadTracker> from, uint64_t from_size, uint64_t to_size)
      : from_(std::move(from)), from_size_(from_size), to_size_(to_size) {}

  cache::ReadHint OnRead(uint64_t offset, uint64_t size) override {
    if (size == 0) return cache::ReadHint::kOnward;
    const uint64_t first = offset / to_size_;
    const uint64_t last = (offset + size - 1) / to_size_;
    return from_->OnRead(first * from_size_, (last - first + 1) * from_size_);
  }
  void Expect(uint64_t offset) override { from_->Expect(offset / to_size_ * from_size_); }

 private:
  const std::unique_ptr<ReadTracker> from_;
  const uint64_t from_size_;
  const uint64_t to_size_;
};

class ArrayElements final : public ElementSource {
 public:
  ArrayElements(std::shared_ptr<const cache::ArrayReader> reader, std::string name)
      : reader_(std::move(reader)), name_(std::move(name)) {}

  uint64_t size() const override { return reader_->byte_size(); }
  model::Result<void> Read(uint64_t offset, backends::ByteSpan out, model::ByteOrder order,
                           cache::ReadHint hint) const override {
    auto read = reader_->Read(offset, out, order, hint);
    if (read || name_.empty()) return read;
    return model::Propagate(std::move(read).error(), name_);
  }
  model::Result<std::shared_ptr<const cache::ArrayReader>> Reader() const override {
    return reader_;
  }
  model::Result<void> VisitChunks(const ChunkVisitor& visit) const override {
    if (reader_->chunk_count() > kMostChunks)
      return model::Limit("more than {} chunks", kMostChunks);
    for (uint64_t chunk = 0; chunk < reader_->chunk_count(); ++chunk) {
      NDLFS_RETURN_IF_ERROR(visit(*reader_, chunk));
    }
    return {};
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

model::Result<ReadCost> CostOf(const ElementSource& source) {
  ReadCost cost;
  uint64_t asked = 0;
  const auto add = [&](const cache::ArrayReader& reader,
                       uint64_t chunk) -> model::Result<void> {
    NDLFS_RETURN_IF_ERROR(backends::CancellationScope::Check());
    if (++asked > kMostChunks) return model::Limit("more than {} chunks", kMostChunks);
    NDLFS_TRY(const auto one, reader.CostOf(chunk));
    cost.chunks += 1;
    cost.kept += one.is_kept ? 1 : 0;
    cost.fetched_bytes += one.fetched_bytes;
    cost.decoded_bytes += one.decoded_bytes;
    return {};
  };
  NDLFS_TRY(const auto reader, source.Reader());
  const uint64_t chunks = reader ? reader->chunk_count() : 0;
  std::optional<std::vector<uint64_t>> stored;
  if (reader) {
    NDLFS_TRY(stored, backends::FindStoredChunks(reader->source(), chunks));
  }
  model::Result<void> added;
  if (!stored) added = source.VisitChunks(add);
  for (size_t i = 0; stored && added && i < stored->size(); ++i)
    added = add(*reader, (*stored)[i]);
  // EIO would tell of damage.
  if (!added && added.error().code() == model::ErrorCode::kLimit) {
    return model::IoError(EFBIG, added.error().message());
  }
  NDLFS_RETURN_IF_ERROR(std::move(added));
  // Those that are absent cost nothing.
  if (stored) cost.chunks = chunks;
  return cost;
}

std::unique_ptr<ReadTracker> TrackElements(std::unique_ptr<ReadTracker> tracker,
                                           uint64_t from_size, uint64_t to_size) {
  return std::make_unique<ElementTracker>(std::move(tracker), from_size, to_size);
}

}  // namespace ndlfs::fs
