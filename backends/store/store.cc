// SPDX-License-Identifier: MIT
#include "backends/store/store.h"

#include <algorithm>
#include <cerrno>

namespace ndlfs::backends {
namespace {

// How often a value may grow while it is read before that is an error.
constexpr int kReadAttempts = 4;

}  // namespace

model::Result<std::optional<ReadResult>> Store::ReadOnce(std::string_view key, uint64_t offset,
                                                         const Reserve& reserve) const {
  NDLFS_TRY(const auto version, Stat(key));
  NDLFS_TRY(const auto size, Size(key));
  if (!version || !size) return std::nullopt;
  NDLFS_TRY(const ByteSpan out, reserve(*size));
  NDLFS_TRY(const auto count, ReadInto(key, offset, out));
  if (!count) return std::nullopt;
  NDLFS_TRY(const auto now, Stat(key));
  if (now != version) return model::Stale("changed while it was read");
  return ReadResult{*count, *version};
}

model::Result<std::optional<Bytes>> Store::Read(std::string_view key, uint64_t limit,
                                                ByteRange range) const {
  const bool to_end = range.length == ByteRange::kToEnd;
  for (int attempt = 0; attempt < kReadAttempts; ++attempt) {
    Bytes bytes;
    uint64_t length = 0;
    const auto reserve = [&](uint64_t size) -> model::Result<ByteSpan> {
      if (range.offset >= size) return ByteSpan();
      length = std::min(range.length, size - range.offset);
      if (length > limit) {
        return model::Limit("{} bytes, more than the limit of {}", length, limit);
      }
      // One byte more than there was shows a value that has grown since, as when
      // it was replaced by a longer one: half of that is not all of it.
      bytes = Bytes(length + (to_end ? 1 : 0));
      return bytes.span();
    };
    NDLFS_TRY(const auto result, ReadOnce(key, range.offset, reserve));
    if (!result) return std::nullopt;
    if (result->count > length) continue;
    bytes.Shrink(result->count);
    return bytes;
  }
  return model::IoError(EBUSY, "grows while it is read");
}

}  // namespace ndlfs::backends
