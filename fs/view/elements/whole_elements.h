// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "backends/base/bytes.h"
#include "model/error.h"

namespace ndlfs::fs {

// Fills `out` from byte `offset` of a stream of elements of `item` bytes. `read(first, out)`
// reads whole elements from number `first` on, and returns a model::Result<void>. Reads the
// whole element if only a part of it is wanted.
template <typename Read>
model::Result<void> ReadWholeElements(uint64_t item, uint64_t offset, backends::ByteSpan out,
                                      const Read& read) {
  while (!out.empty()) {
    const uint64_t from = offset % item;
    const bool is_whole = from == 0 && out.size() >= item;
    const size_t count =
        is_whole ? out.size() - out.size() % item : std::min<uint64_t>(item - from, out.size());
    if (is_whole) {
      NDLFS_RETURN_IF_ERROR(read(offset / item, out.first(count)));
    } else {
      backends::Bytes element(item);
      NDLFS_RETURN_IF_ERROR(read(offset / item, element.span()));
      std::memcpy(out.data(), element.data() + from, count);
    }
    offset += count;
    out = out.subspan(count);
  }
  return {};
}

}  // namespace ndlfs::fs
