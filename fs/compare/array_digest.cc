// SPDX-License-Identifier: MIT
#include "fs/compare/array_digest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>

#include "backends/base/bytes.h"
#include "backends/format/computed_source.h"
#include "backends/store/cancellation.h"

namespace ndlfs::fs {
namespace {

using model::Result;

// How much of a block is in memory at a time.
constexpr uint64_t kPieceBytes = uint64_t{1} << 20;
// Structs and text beyond this would be a strange element.
constexpr uint64_t kMostElementBytes = uint64_t{256} << 20;
// Finding and opening a chunk costs as much as hashing this.
constexpr uint64_t kLeastCost = uint64_t{16} << 10;

uint64_t CountBlocks(uint64_t elements) {
  return elements / ArrayDigest::kBlockElements + (elements % ArrayDigest::kBlockElements != 0);
}

}  // namespace

Result<std::shared_ptr<ArrayDigest>> ArrayDigest::Make(
    std::shared_ptr<const cache::ArrayReader> reader) {
  NDLFS_RETURN_IF_ERROR(backends::CheckReadable(reader->source()));
  NDLFS_TRY(CanonicalType type, CanonicalType::Make(reader->spec().dtype));
  return std::shared_ptr<ArrayDigest>(new ArrayDigest(std::move(reader), std::move(type)));
}

ArrayDigest::ArrayDigest(std::shared_ptr<const cache::ArrayReader> reader, CanonicalType type)
    : reader_(std::move(reader)),
      type_(std::move(type)),
      block_count_(CountBlocks(reader_->element_count())),
      block_cost_(
          std::max(kLeastCost, reader_->byte_size() / std::max<uint64_t>(1, block_count_))),
      sweep_(*reader_) {
  const std::string header = fmt::format("[\"ndlfs-array-1\",{},[{}]]\n", type_.json(),
                                         fmt::join(reader_->spec().shape, ","));
  sum_.Add(backends::AsBytes(header));
}

Result<uint64_t> ArrayDigest::Run(uint64_t block) {
  const uint64_t first = block * kBlockElements;
  const uint64_t count = std::min(kBlockElements, reader_->element_count() - first);
  const bool is_fixed = reader_->spec().dtype.is_fixed_size();
  Sha256 sum;
  NDLFS_TRY(const uint64_t bytes,
            is_fixed ? HashFixed(first, count, sum) : HashVariable(first, count, sum));
  AddBlock(block, sum.Finish());
  return bytes;
}

Result<uint64_t> ArrayDigest::HashFixed(uint64_t first, uint64_t count, Sha256& sum) {
  const uint64_t item = reader_->spec().dtype.size();
  const uint64_t begin = first * item;
  const uint64_t end = begin + count * item;
  // Elements in canonical form need not be whole.
  const uint64_t unit = type_.is_plain() ? 1 : std::max<uint64_t>(item, 1);
  if (unit > kMostElementBytes) {
    return model::Limit("an element has more than {} bytes", kMostElementBytes);
  }
  const uint64_t at_once = std::max(kPieceBytes / unit, uint64_t{1}) * unit;
  backends::Bytes buffer(std::min(at_once, end - begin));
  std::string canonical;
  for (uint64_t offset = begin; offset < end; offset += at_once) {
    const auto piece = buffer.span().first(std::min(at_once, end - offset));
    sweep_.Prepare(offset, offset + piece.size());
    NDLFS_RETURN_IF_ERROR(reader_->Read(offset, piece));
    if (type_.is_plain()) {
      sum.Add(piece);
      continue;
    }
    canonical.clear();
    type_.AppendFixed(piece, canonical);
    sum.Add(backends::AsBytes(canonical));
  }
  sweep_.Finish(begin, end);
  return end - begin;
}

Result<uint64_t> ArrayDigest::HashVariable(uint64_t first, uint64_t count, Sha256& sum) const {
  std::string canonical;
  uint64_t bytes = 0;
  Result<void> appended;
  const auto flush = [&] {
    sum.Add(backends::AsBytes(canonical));
    bytes += canonical.size();
    canonical.clear();
  };
  NDLFS_RETURN_IF_ERROR(reader_->Visit(first, count, [&](backends::ConstByteSpan element) {
    appended = type_.AppendVariable(element, canonical);
    if (canonical.size() >= kPieceBytes) flush();
    return appended.has_value();
  }));
  if (!appended) return model::Propagate(appended.error());
  flush();
  return bytes;
}

void ArrayDigest::AddBlock(uint64_t block, const Sha256Digest& digest) {
  const model::MutexLock lock(mutex_);
  waiting_.emplace(block, digest);
  while (!waiting_.empty() && waiting_.begin()->first == next_) {
    sum_.Add(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    ++next_;
  }
}

Sha256Digest ArrayDigest::Finish() {
  const model::MutexLock lock(mutex_);
  return sum_.Finish();
}

Result<Sha256Digest> DigestOf(std::shared_ptr<const cache::ArrayReader> reader) {
  NDLFS_TRY(const auto digest, ArrayDigest::Make(std::move(reader)));
  for (uint64_t block = 0; block < digest->block_count(); ++block) {
    NDLFS_RETURN_IF_ERROR(backends::CancellationScope::Check());
    NDLFS_RETURN_IF_ERROR(digest->Run(block));
  }
  return digest->Finish();
}

}  // namespace ndlfs::fs
