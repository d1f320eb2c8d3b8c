// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "backends/base/bytes.h"
#include "model/error.h"

namespace ndlfs::backends::parquet {

// Encodings and kinds of pages, by their numbers in a file.
enum class Encoding : uint64_t {
  kPlain = 0,
  kPlainDictionary = 2,
  kRuns = 3,
  kDeltaBinaryPacked = 5,
  kDeltaLengthByteArray = 6,
  kRunsOfDictionary = 8,
};
enum class PageKind : uint64_t { kData = 0, kIndex = 1, kDictionary = 2, kData2 = 3 };

// One page, decompressed.
struct Page {
  PageKind kind = PageKind::kData;
  Encoding encoding = Encoding::kPlain;
  uint64_t values = 0;   // nulls too
  ConstByteSpan levels;  // of kData2: which values are there
  ConstByteSpan body;    // the values, in kData behind the levels; in `memory`
  Bytes memory;
};

// Takes the page at the beginning of `bytes`, compressed by the codec with the number
// `compression`, and checks its checksum, if it has one. Subtracts its decompressed size from
// `budget` before it allocates; kLimit if there is too little. `page.levels` is a part of
// `bytes`.
model::Result<Page> TakePage(ConstByteSpan& bytes, uint64_t compression, uint64_t& budget);

}  // namespace ndlfs::backends::parquet
