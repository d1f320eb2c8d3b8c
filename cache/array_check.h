// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "backends/format/array_source.h"
#include "cache/array_reader.h"
#include "cache/chunk_cache.h"
#include "model/error.h"

namespace ndlfs::cache {

// Reads an array part by part, to check that all of it can be read. A part is a chunk or, if
// the elements lie in a file without encoding, a piece of that file. If the store has a
// checksum of such a file, one more part compares it. Thread-safe. `cache` must outlive the
// object; its budget bounds the memory for chunks.
class ArrayCheck {
 public:
  ArrayCheck(std::shared_ptr<const backends::ArraySource> source, ChunkCache& cache);

  uint64_t part_count() const { return part_count_; }
  // Whether the parts are the chunks, by their numbers in C order.
  bool in_chunks() const { return !in_pieces_; }
  // The average work of reading one part, in bytes. Never 0.
  uint64_t part_cost() const { return part_cost_; }

  struct Part {
    uint64_t bytes = 0;  // decoded
    bool absent = false;
  };
  // Reads and decodes one part; `part` is less than part_count(). An error
  // names the chunk or the file.
  model::Result<Part> Run(uint64_t part) const;

 private:
  model::Result<Part> RunPiece(uint64_t piece) const;
  model::Result<Part> RunChecksum() const;

  const ArrayReader reader_;
  const bool in_pieces_;
  // Where the elements lie, if the store has a checksum of them; the last part compares it.
  const std::optional<backends::ContiguousRange> summed_;
  uint64_t part_count_;
  uint64_t part_cost_;
};

}  // namespace ndlfs::cache
