// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>

#include "backends/format/array_source.h"
#include "cache/array_reader.h"
#include "cache/chunk_cache.h"
#include "model/error.h"

namespace ndlfs::cache {

// An array in parts, for whoever wants to know whether all of it can be read:
// its chunks, or pieces of the file where the elements lie in it as they are.
// Thread-safe. `cache` must outlive it; it bounds what is in memory at a time.
class ArrayCheck {
 public:
  ArrayCheck(std::shared_ptr<const backends::ArraySource> source, ChunkCache& cache);

  uint64_t part_count() const { return part_count_; }
  // What a part takes on average, in bytes: a measure of work, never 0.
  uint64_t part_cost() const { return part_cost_; }

  struct Part {
    uint64_t bytes = 0;  // decoded
    bool absent = false;
  };
  // Reads and decodes one part. The error names the chunk, or the file.
  model::Result<Part> Run(uint64_t part) const;

 private:
  model::Result<Part> RunPiece(uint64_t piece) const;

  const ArrayReader reader_;
  const bool in_pieces_;
  uint64_t part_count_;
  uint64_t part_cost_;
};

}  // namespace ndlfs::cache
