// SPDX-License-Identifier: MIT
#include "cache/array_check.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "backends/format/computed_source.h"
#include "backends/store/value_checksums.h"

namespace ndlfs::cache {

using backends::Bytes;
using backends::ContiguousRange;
using model::Result;

namespace {

constexpr uint64_t kCheckedBytes = uint64_t{4} << 20;
// Finding and opening a chunk costs as much as decoding this.
constexpr uint64_t kLeastCost = uint64_t{16} << 10;

uint64_t CountParts(const ArrayReader& reader, bool in_pieces) {
  if (reader.element_count() == 0 || backends::IsComputed(reader.source())) return 0;
  if (!in_pieces) return reader.chunk_count();
  const uint64_t bytes = reader.byte_size();
  return bytes / kCheckedBytes + (bytes % kCheckedBytes != 0);
}

const backends::ValueChecksums* ChecksumsOf(const backends::Store* store) {
  return dynamic_cast<const backends::ValueChecksums*>(store);
}

// Where the elements lie, if the store there has a checksum of them.
std::optional<ContiguousRange> FindSummed(const ArrayReader& reader) {
  if (reader.has_chunks() || reader.element_count() == 0) return std::nullopt;
  auto range = reader.source().contiguous();
  if (!range || ChecksumsOf(range->store.get()) == nullptr) return std::nullopt;
  return range;
}

}  // namespace

ArrayCheck::ArrayCheck(std::shared_ptr<const backends::ArraySource> source, ChunkCache& cache)
    : reader_(std::move(source), cache),
      in_pieces_(!reader_.has_chunks()),
      summed_(FindSummed(reader_)),
      part_count_(CountParts(reader_, in_pieces_) + (summed_ ? 1 : 0)),
      part_cost_(kLeastCost) {
  if (part_count_ != 0) part_cost_ = std::max(kLeastCost, reader_.byte_size() / part_count_);
}

Result<ArrayCheck::Part> ArrayCheck::Run(uint64_t part) const {
  if (summed_ && part + 1 == part_count_) return RunChecksum();
  if (in_pieces_) return RunPiece(part);
  NDLFS_TRY(const ChunkCache::Handle chunk, reader_.Load(part));
  return Part{.bytes = chunk->size(), .absent = chunk->empty()};
}

Result<ArrayCheck::Part> ArrayCheck::RunChecksum() const {
  const auto* const checksums = ChecksumsOf(summed_->store.get());
  NDLFS_RETURN_IF_ERROR(checksums->VerifyValue(summed_->key),
                        summed_->store->Describe(summed_->key));
  return Part{};
}

Result<ArrayCheck::Part> ArrayCheck::RunPiece(uint64_t piece) const {
  thread_local Bytes buffer(kCheckedBytes);
  const uint64_t offset = piece * kCheckedBytes;
  const uint64_t size = std::min(kCheckedBytes, reader_.byte_size() - offset);
  NDLFS_RETURN_IF_ERROR(reader_.Read(offset, buffer.span().first(size)));
  return Part{.bytes = size};
}

}  // namespace ndlfs::cache
