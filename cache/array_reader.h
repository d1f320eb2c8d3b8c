// SPDX-License-Identifier: MIT
//
// Reads an array as the stream of its elements in C order, whatever its
// chunks, codecs and byte order are.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/array_source.h"
#include "backends/bytes.h"
#include "cache/chunk_cache.h"
#include "cache/chunk_ledger.h"
#include "model/error.h"
#include "model/value.h"

namespace ndlfs::cache {

// Thread-safe; keeps its source alive. `cache` must outlive it.
class ArrayReader {
 public:
  ArrayReader(std::shared_ptr<const backends::ArraySource> source, ChunkCache& cache,
              std::shared_ptr<ChunkLedger> ledger = nullptr);

  const backends::ArraySource& source() const { return *source_; }
  const backends::ArraySpec& spec() const { return source_->spec(); }

  // Number of elements, checked not to overflow when the source was made.
  uint64_t element_count() const { return element_count_; }
  // Bytes of the element stream; only for elements of fixed size.
  uint64_t byte_size() const { return element_count_ * spec().dtype.size(); }

  // Fills `out` with the bytes of the element stream from `offset`, numbers in
  // `order`. Any offset and length inside the stream, also within an element.
  // An error names the chunk: "chunk 0.3.1: zstd: ...".
  model::Result<void> Read(uint64_t offset, backends::ByteSpan out,
                           model::ByteOrder order = model::ByteOrder::kLittle) const;

  // Calls `visit` with the bytes of the elements [first, first + count) in
  // order, for elements of any type; of variable size as in array_source.h.
  // Stops early when it returns false.
  model::Result<void> Visit(uint64_t first, uint64_t count,
                            const std::function<bool(backends::ConstByteSpan)>& visit) const;

 private:
  struct Box;
  model::Result<void> ReadContiguous(const backends::ContiguousRange& range, uint64_t offset,
                                     backends::ByteSpan out) const;
  model::Result<void> ReadBox(const Box& box, std::byte* out) const;
  model::Result<ChunkCache::Handle> Chunk(const std::vector<uint64_t>& index) const;

  std::shared_ptr<const backends::ArraySource> source_;
  ChunkCache& cache_;
  std::shared_ptr<ChunkLedger> ledger_;
  uint64_t element_count_;
};

// All elements of a small array as a nested list (a scalar for rank 0), for
// the `value` of NDL documents.
model::Result<model::Value> ReadValue(const ArrayReader& reader);

// "0.3.1"
std::string FormatChunkIndex(const std::vector<uint64_t>& index);

}  // namespace ndlfs::cache
