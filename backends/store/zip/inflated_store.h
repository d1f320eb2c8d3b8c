// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>

#include "backends/base/bytes.h"
#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends {

// The bytes of a file from `offset` on, compressed as gzip or zlib: `length` of them, or all to
// the end.
struct CompressedRange {
  uint64_t offset = 0;
  uint64_t length = ByteRange::kToEnd;
};

// Inflates the first bytes of such a range of the value "" of `file`: `count` of them, or fewer
// if there are no more.
model::Result<Bytes> InflateBeginning(const Store& file, const CompressedRange& range,
                                      size_t count);

// A store whose value "" is the first `size` bytes that such a range inflates to. `file` must
// keep to one version of its value "". Any part can be read: see InflateReader. kCorrupt if the
// compressed range is too short to inflate to `size` bytes. If it inflates to less, reads of
// the missing bytes fail.
model::Result<std::shared_ptr<const Store>> MakeInflatedStore(std::shared_ptr<const Store> file,
                                                              const CompressedRange& range,
                                                              uint64_t size);

}  // namespace ndlfs::backends
