// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/format/array_source.h"
#include "cache/chunk_cache.h"
#include "cache/chunk_ledger.h"
#include "cache/chunk_loader.h"
#include "cache/strided_copy.h"
#include "model/error.h"

namespace ndlfs::cache {

// Parts of the chunks of one array, for who wants little of a chunk and nothing
// near: a part is one or more of the blocks that a codec encodes by themselves,
// and it is decoded without the rest. Parts are in the cache like chunks, each
// loaded once and charged; all parts of a chunk are decoded with no more work
// than the chunk. Thread-safe; what it is made for must outlive it.
class ChunkParts {
 public:
  // `ledger` may be null. Null where chunks cannot be decoded in parts, or are
  // too small for that.
  static std::unique_ptr<const ChunkParts> MakeFor(const backends::ArraySource& source,
                                                   ChunkCache& cache, ChunkLedger* ledger);

  // A chunk: where it is in the grid, and its number in C order.
  struct Chunk {
    std::span<const uint64_t> index;
    uint64_t number;
  };

  // Copies a box out of a chunk, as ReadStrided does. False, whatever has been
  // written, where the chunk is to be had as a whole instead: it is in the cache
  // or on its way, or the box lies in too many parts, or they cannot be loaded.
  // Then loading it as a whole says what is wrong, if anything is.
  bool Copy(const Chunk& chunk, uint64_t from, std::byte* to, const std::vector<CopyAxis>& axes,
            size_t run) const;

 private:
  ChunkParts(const backends::ArraySource& source, ChunkCache& cache, ChunkLedger* ledger)
      : source_(source), cache_(cache), context_{cache, ledger, &cache.pace()} {}

  uint64_t PartBytes(const Chunk& chunk) const;
  bool Read(const Chunk& chunk, uint64_t part_bytes, uint64_t offset,
            backends::ByteSpan out) const;
  model::Result<ChunkCache::Handle> Part(const Chunk& chunk, uint64_t begin,
                                         uint64_t part_bytes) const;

  const backends::ArraySource& source_;
  ChunkCache& cache_;
  const LoadContext context_;
  // Of a part; what a chunk that was looked at says holds for all, as one
  // program writes them. Where that is not so, parts that cannot be had make
  // their chunk be loaded as a whole. 0 as long as it is not known.
  mutable std::atomic<uint64_t> part_bytes_{0};
};

}  // namespace ndlfs::cache
