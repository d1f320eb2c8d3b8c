// SPDX-License-Identifier: MIT
#include "backends/store/store.h"

#include <algorithm>
#include <cerrno>

namespace ndlfs::backends {
namespace {

// How often a value may grow while it is read before that is an error.
constexpr int kReadAttempts = 4;

}  // namespace

model::Result<std::optional<Bytes>> Store::Read(std::string_view key, uint64_t limit,
                                                ByteRange range) const {
  const bool to_end = range.length == ByteRange::kToEnd;
  for (int attempt = 0; attempt < kReadAttempts; ++attempt) {
    NDLFS_TRY(const auto size, Size(key));
    if (!size) return std::nullopt;
    if (range.offset >= *size) return Bytes();
    const uint64_t length = std::min(range.length, *size - range.offset);
    if (length > limit) {
      return model::Limit("{} bytes, more than the limit of {}", length, limit);
    }
    // One byte more than there was shows a value that has grown since, as when
    // it was replaced by a longer one: half of that is not all of it.
    Bytes bytes(length + (to_end ? 1 : 0));
    NDLFS_TRY(const auto count, ReadInto(key, range.offset, bytes.span()));
    if (!count) return std::nullopt;
    if (*count > length) continue;
    bytes.Shrink(*count);
    return bytes;
  }
  return model::IoError(EBUSY, "grows while it is read");
}

}  // namespace ndlfs::backends
