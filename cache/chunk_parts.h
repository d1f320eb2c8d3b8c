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
#include "cache/load_counts.h"
#include "cache/strided_copy.h"
#include "model/error.h"

namespace ndlfs::cache {

// Decodes parts of the chunks of one array, for readers that want little of a
// chunk and nothing near it. A part is one or more of the blocks that a codec
// encodes independently. It is decoded without the rest of the chunk. The cache
// keeps and charges parts as it does chunks, and loads each once. Decoding all
// parts of a chunk is no more work than decoding the chunk. Thread-safe. The
// arguments of MakeFor() must outlive the object.
class ChunkParts {
 public:
  // `ledger` may be null. Returns null if the chunks cannot be decoded in
  // parts, or are too small for that.
  static std::unique_ptr<const ChunkParts> MakeFor(const backends::ArraySource& source,
                                                   ChunkCache& cache, ChunkLedger* ledger,
                                                   LoadCounts& counts);

  // A chunk: its index in the grid, and its number in C order.
  struct Chunk {
    std::span<const uint64_t> index;
    uint64_t number;
  };

  // Copies a box out of a chunk, as ReadStrided() does. False if the caller has
  // to load the whole chunk instead; the bytes written so far are then
  // worthless. This is so if the chunk is in the cache or being loaded, if the
  // box lies in too many parts, or if a part cannot be loaded. In the last case
  // loading the whole chunk shows the error, if there is one.
  bool Copy(const Chunk& chunk, uint64_t from, std::byte* to, const std::vector<CopyAxis>& axes,
            size_t run) const;

 private:
  ChunkParts(const backends::ArraySource& source, ChunkCache& cache, ChunkLedger* ledger,
             LoadCounts& counts)
      : source_(source),
        cache_(cache),
        context_{.indexes = cache, .ledger = ledger, .pace = &cache.pace()},
        counts_(counts) {}

  uint64_t PartBytes(const Chunk& chunk) const;
  bool Read(const Chunk& chunk, uint64_t part_bytes, uint64_t offset,
            backends::ByteSpan out) const;
  model::Result<ChunkCache::Handle> Part(const Chunk& chunk, uint64_t begin,
                                         uint64_t part_bytes) const;

  const backends::ArraySource& source_;
  ChunkCache& cache_;
  const LoadContext context_;
  LoadCounts& counts_;
  // The size of a part in bytes; 0 until it is known. The first chunk that
  // tells its block size decides it for all chunks, because one program usually
  // writes them all. If another chunk has other blocks and a part of it cannot
  // be loaded, the whole chunk is loaded.
  mutable std::atomic<uint64_t> part_bytes_{0};
};

}  // namespace ndlfs::cache
