// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/format/array_source.h"
#include "backends/format/hdf4/description.h"
#include "backends/format/hdf4/helper.h"
#include "backends/format/hdf4/skeleton.h"
#include "backends/store/store.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::backends::hdf4 {

// Reads elements that only libhdf4 can decode, one block at a time. Thread-safe.
class LibraryReader {
 public:
  LibraryReader(std::shared_ptr<const Store> store, Skeleton skeleton)
      : store_(std::move(store)), skeleton_(std::move(skeleton)) {}

  // `pieces` are the encoded bytes of the block.
  model::Result<Bytes> Read(const BlockRequest& block, const std::vector<Piece>& pieces) const;
  uint64_t held_bytes() const { return skeleton_.bytes(); }

 private:
  const std::shared_ptr<const Store> store_;
  const Skeleton skeleton_;
  mutable model::Mutex mutex_;
  mutable ElementAsker asker_ GUARDED_BY(mutex_);
};

// The file of an array.
struct OpenedFile {
  std::shared_ptr<const Store> store;
  ValueInfo info;  // of the version that the description is of
  std::shared_ptr<const LibraryReader> library;
  std::shared_ptr<const CompressedParts> compressed;
};

// The elements of an array. Those that are not encoded, or by deflate, are read by ndlfs
// itself, others by the library. kUnsupported if nobody can; kLimit if a chunk is too large.
model::Result<std::shared_ptr<const ArraySource>> MakeArraySource(const OpenedFile& file,
                                                                  ArrayInfo array,
                                                                  uint64_t max_chunk_size);

}  // namespace ndlfs::backends::hdf4
