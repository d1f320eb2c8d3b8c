// SPDX-License-Identifier: MIT
//
// Reads an array as the stream of its elements in C order, whatever its
// chunks, codecs and byte order are.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/format/array_source.h"
#include "cache/chunk_cache.h"
#include "cache/chunk_ledger.h"
#include "cache/chunk_loader.h"
#include "cache/chunk_parts.h"
#include "cache/chunk_spill.h"
#include "cache/strided_copy.h"
#include "model/error.h"
#include "model/value.h"

namespace ndlfs::cache {

// What else the reader of some bytes is going to want, as far as one can see.
enum class Access {
  kOnward,  // what follows, or more of the same chunks
  kAlone,   // nothing near
};

// Thread-safe; keeps its source alive. `cache` must outlive it.
class ArrayReader {
 public:
  // `ledger` may be null where nobody asks what has been read.
  ArrayReader(std::shared_ptr<const backends::ArraySource> source, ChunkCache& cache,
              std::shared_ptr<ChunkLedger> ledger = nullptr);
  ~ArrayReader();
  ArrayReader(const ArrayReader&) = delete;
  ArrayReader& operator=(const ArrayReader&) = delete;

  const backends::ArraySource& source() const { return *source_; }
  const backends::ArraySpec& spec() const { return source_->spec(); }

  // Number of elements; sources have checked that neither this nor the bytes
  // of all elements overflow.
  uint64_t element_count() const { return element_count_; }
  // Bytes of the element stream; 0 for elements of variable size.
  uint64_t byte_size() const { return element_count_ * spec().dtype.size(); }

  // Fills `out` with the bytes of the element stream from `offset`, numbers in
  // `order`. Any part of the stream, also within an element; only for elements
  // of fixed size. An error names the chunk: "chunk 0.3.1: sst.zarr/0.3.1: ...".
  // Of chunks that are read `kAlone`, only parts are decoded where that is
  // possible and pays; damage elsewhere in them is not seen then.
  model::Result<void> Read(uint64_t offset, backends::ByteSpan out,
                           model::ByteOrder order = model::ByteOrder::kLittle,
                           Access access = Access::kOnward) const;

  // For whoever decodes ahead. Chunks are numbered in C order; the element
  // stream comes first into them in that order.
  uint64_t chunk_count() const { return chunk_count_; }
  // The chunk that byte `offset` of the element stream is in.
  uint64_t ChunkAt(uint64_t offset) const;
  // Where the last byte of a chunk is in the element stream: later for later
  // chunks.
  uint64_t LastByte(uint64_t chunk) const;
  // Bytes of the largest chunk; 0 where nothing has to be decoded.
  uint64_t max_chunk_bytes() const;
  // How many chunks the element stream comes back to again and again before it
  // is through with any of them.
  uint64_t band_chunks() const;
  // Where chunks go that memory has no room for, for who tells it which are
  // going to be needed. Null where there is no such place.
  ChunkSpill* spill() const { return spill_.get(); }
  // Brings a chunk into the cache; false if it was there, or cannot be loaded.
  bool Prefetch(uint64_t chunk) const;
  // A reader that goes forward is through with a chunk: others go after it.
  void Retire(uint64_t chunk) const;
  // A chunk, decoded; empty if it is absent.
  model::Result<ChunkCache::Handle> Load(uint64_t chunk) const;
  // Its index, as errors name it: "0.3.1".
  std::string ChunkName(uint64_t chunk) const;
  uint64_t cache_budget() const { return cache_.budget_bytes(); }

  // Calls `visit` with the bytes of each element of [first, first + count) in
  // order; of variable size as in backends/format/array_source.h. Stops early when it
  // returns false. The bytes are gone after the call.
  model::Result<void> Visit(uint64_t first, uint64_t count,
                            const std::function<bool(backends::ConstByteSpan)>& visit) const;

 private:
  struct Box;
  using Index = std::vector<uint64_t>;

  void AddSpill();
  model::Result<void> ReadLittle(uint64_t offset, backends::ByteSpan out, Access access) const;
  model::Result<void> ReadContiguous(const backends::ContiguousRange& range, uint64_t offset,
                                     backends::ByteSpan out) const;
  model::Result<void> ReadRaw(const backends::ContiguousRange& range,
                              std::span<const model::SwapRun> runs, uint64_t offset,
                              backends::ByteSpan out) const;
  // Reads [offset, offset + out.size()) through `read`, which is only asked
  // for whole elements, and reverses their numbers as `runs` says.
  using RawReader = std::function<model::Result<void>(uint64_t, backends::ByteSpan)>;
  model::Result<void> ReadSwapped(std::span<const model::SwapRun> runs, const RawReader& read,
                                  uint64_t offset, backends::ByteSpan out) const;
  model::Result<void> ReadBox(const Box& box, std::byte* out) const;
  model::Result<void> CopyFromChunk(const Box& box, const Index& index, std::byte* out) const;
  model::Result<void> VisitVariable(
      uint64_t first, uint64_t count,
      const std::function<bool(backends::ConstByteSpan)>& visit) const;
  bool CopyFromSpill(uint64_t chunk, uint64_t from, std::byte* to,
                     const std::vector<CopyAxis>& axes, size_t run) const;
  model::Result<bool> CopyInPlace(const Index& index, uint64_t from, std::byte* to,
                                  const std::vector<CopyAxis>& axes, size_t run) const;
  model::Result<ChunkCache::Handle> Chunk(const Index& index) const;
  model::Result<ChunkCache::Handle> FixedChunk(const Index& index) const;
  model::Result<ChunkCache::Handle> VariableChunk(const Index& index) const;
  LoadContext Context() const;
  uint64_t LinearIndex(std::span<const uint64_t> index) const;
  Index IndexOf(uint64_t chunk) const;

  const std::shared_ptr<const backends::ArraySource> source_;
  ChunkCache& cache_;
  const std::shared_ptr<ChunkLedger> ledger_;
  uint64_t element_count_;
  uint64_t chunk_count_;
  bool in_place_;                            // chunks can be read in parts
  std::unique_ptr<const ChunkParts> parts_;  // null where they can not be decoded so
  std::shared_ptr<ChunkSpill> spill_;
  std::vector<uint64_t> strides_;  // bytes from one index to the next, per dimension
};

// All elements of a small array as nested lists (one element for rank 0): the
// `value` of NDL documents.
model::Result<model::Value> ReadValue(const ArrayReader& reader);

// "0.3.1"; "0" for rank 0.
std::string FormatChunkIndex(std::span<const uint64_t> index);

}  // namespace ndlfs::cache
