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
#include "cache/read_hint.h"
#include "model/error.h"
#include "model/value.h"

namespace ndlfs::cache {

class ChunkLedger;
class ChunkParts;
class ChunkSpill;
class JoinedReader;
struct CopyAxis;
struct LoadContext;
struct LoadCounts;
struct StoredBytes;

// Reads an array through the chunk cache. Thread-safe. Keeps its source alive;
// `cache` must outlive the reader.
class ArrayReader {
 public:
  // A read of fewer bytes may need only parts of chunks. It does not load chunks side by side,
  // and asks a server for nothing around its bytes.
  static constexpr uint64_t kLargeRead = uint64_t{64} << 10;

  // Notes the versions of the chunks that it reads in `ledger`, which may be null. Counts its
  // reads in `counts`; null: in an object of its own.
  ArrayReader(std::shared_ptr<const backends::ArraySource> source, ChunkCache& cache,
              std::shared_ptr<ChunkLedger> ledger = nullptr,
              std::shared_ptr<LoadCounts> counts = nullptr);
  ~ArrayReader();
  ArrayReader(const ArrayReader&) = delete;
  ArrayReader& operator=(const ArrayReader&) = delete;

  // Another reader of the same array and cache, which notes its reads in `ledger` alone.
  std::unique_ptr<const ArrayReader> WithLedger(std::shared_ptr<ChunkLedger> ledger) const;

  const backends::ArraySource& source() const { return *source_; }
  const backends::ArraySpec& spec() const { return source_->spec(); }
  // How chunks were read so far, including those of the parts of a joined array.
  const LoadCounts& counts() const { return *counts_; }

  // Number of elements. Sources have checked that neither this number nor the
  // size of all elements in bytes overflows.
  uint64_t element_count() const { return element_count_; }
  // Bytes of the element stream; 0 for elements of variable size.
  uint64_t byte_size() const { return element_count_ * spec().dtype.size(); }

  // Fills `out` with the bytes of the element stream from byte `offset`; numbers
  // are in byte order `order`. The range may begin and end within an element.
  // Elements must be of fixed size. An error names the chunk:
  // "chunk 0.3.1: sst.zarr/0.3.1: ...". With kAlone, only a part of a chunk may
  // be decoded, if the codec can do that and it saves time. Damage in the rest
  // of the chunk is then not detected.
  model::Result<void> Read(uint64_t offset, backends::ByteSpan out,
                           model::ByteOrder order = model::ByteOrder::kLittle,
                           ReadHint hint = ReadHint::kOnward) const;

  // Whether Load() can return chunks. If false, only Read() returns elements: they lie in a
  // file without encoding, or in other arrays.
  bool has_chunks() const { return !joined_ && !source_->contiguous(); }

  // The following methods are for readers that decode ahead. Chunks are numbered in C order,
  // which is also the order in which the element stream enters them. Elements that lie in a
  // file one after the other (ArraySource::contiguous()) have no chunks. If each read is a
  // request to a server, they are cut into pieces, which are read ahead like chunks.
  uint64_t chunk_count() const { return chunk_count_; }
  // The chunk that byte `offset` of the element stream is in.
  uint64_t ChunkAt(uint64_t offset) const;
  // The offset of the last byte of a chunk in the element stream. It grows with
  // the number of the chunk.
  uint64_t LastByte(uint64_t chunk) const;
  // Decoded size of the largest chunk in bytes; 0 if nothing has to be decoded.
  uint64_t max_chunk_bytes() const;
  // The size of the largest block that Prefetch() loads, in bytes. 0 if it loads nothing:
  // nothing has to be decoded, and reads need not wait for a server.
  uint64_t max_ahead_bytes() const;
  // The number of chunks in a band. Within a band, the element stream goes from
  // chunk to chunk, and comes back to each of them until it has passed the
  // whole band.
  uint64_t band_chunks() const;
  // Keeps on disk the chunks that the cache has evicted too early; readers tell it which chunks
  // they will need. Null if the array has none.
  ChunkSpill* spill() const { return spill_.get(); }
  // Loads a chunk into the cache. False if the chunk is in the cache or on disk
  // already, or cannot be loaded. A read of the chunk reports the error.
  bool Prefetch(uint64_t chunk) const;
  // Whether the bytes that Prefetch() would ask a server for seem to be kept on this machine.
  // May read an index that Prefetch() needs as well.
  bool IsKept(uint64_t chunk) const;
  // Tells that a sequential reader has finished with a chunk, so that the cache
  // evicts it before others. Has no effect if another reader will need the
  // chunk.
  void Retire(uint64_t chunk) const;
  // Whether a chunk is stored; false if it is absent. Looks at the source without reading the
  // chunk, and notes nothing. True for a chunk that lies in other arrays.
  model::Result<bool> IsStored(uint64_t chunk) const;
  // The cost of reading a chunk.
  struct ChunkCost {
    uint64_t fetched_bytes = 0;  // as it is stored; 0 if only reading it tells
    uint64_t decoded_bytes = 0;  // 0 if nothing has to be decoded
    bool is_kept = false;        // decoded, in memory or on disk: costs nothing
  };
  // Looks at the source as IsStored() does. For a chunk that lies in other arrays, the sum.
  model::Result<ChunkCost> CostOf(uint64_t chunk) const;
  // The bytes of a chunk as they are stored (chunk_loader.h). Not for arrays whose elements lie
  // in other arrays.
  model::Result<StoredBytes> FindStored(uint64_t chunk) const;
  model::Result<void> ReadStored(uint64_t chunk, const StoredBytes& stored, uint64_t offset,
                                 backends::ByteSpan out) const;
  // The decoded chunk; an empty block if the chunk is absent. Call it only if has_chunks().
  model::Result<ChunkCache::Handle> Load(uint64_t chunk) const;
  // The index of a chunk, as errors show it: "0.3.1".
  std::string ChunkName(uint64_t chunk) const;
  uint64_t cache_budget() const { return cache_.budget_bytes(); }

  // Calls `visit` with the bytes of each element of [first, first + count) in
  // order. Elements of variable size have the form that
  // backends/format/array_source.h describes. Stops when `visit` returns false. The
  // bytes are valid only during the call.
  model::Result<void> Visit(uint64_t first, uint64_t count,
                            const std::function<bool(backends::ConstByteSpan)>& visit) const;

 private:
  struct Box;
  using Index = std::vector<uint64_t>;

  void AddSpill();
  model::Result<void> ReadLittle(uint64_t offset, backends::ByteSpan out, ReadHint hint) const;
  void PlanAhead();
  model::Result<void> ReadPieces(const backends::ContiguousRange& range, uint64_t offset,
                                 backends::ByteSpan out, ReadHint hint) const;
  model::Result<ChunkCache::Handle> Piece(const backends::ContiguousRange& range,
                                          uint64_t number) const;
  model::Result<void> ReadContiguous(const backends::ContiguousRange& range, uint64_t offset,
                                     backends::ByteSpan out) const;
  model::Result<void> ReadRaw(const backends::ContiguousRange& range,
                              std::span<const model::SwapRun> runs, uint64_t offset,
                              backends::ByteSpan out) const;
  // Reads [offset, offset + out.size()) through `read`, and reverses the bytes
  // of numbers as `runs` says. Calls `read` for whole elements only, unless
  // `runs` is empty.
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
  // `is_hit` is set to false if the chunk has to be loaded.
  model::Result<ChunkCache::Handle> FixedChunk(const Index& index, bool& is_hit) const;
  model::Result<ChunkCache::Handle> VariableChunk(const Index& index, bool& is_hit) const;
  model::Result<backends::Bytes> LoadCounted(const Index& index, uint64_t limit,
                                             ChunkCache::Reservation& reserved) const;
  LoadContext Context() const;
  uint64_t LinearIndex(std::span<const uint64_t> index) const;
  Index IndexOf(uint64_t chunk) const;

  const std::shared_ptr<const backends::ArraySource> source_;
  ChunkCache& cache_;
  const std::shared_ptr<ChunkLedger> ledger_;
  const std::shared_ptr<LoadCounts> counts_;
  uint64_t element_count_;
  uint64_t chunk_count_;
  std::unique_ptr<const JoinedReader> joined_;  // null unless the elements lie in other arrays
  bool in_place_;                               // parts of chunks are read from the file
  // The size of the pieces in which contiguous elements are read ahead; 0: they are not.
  uint64_t piece_bytes_ = 0;
  bool in_place_alone_ = false;              // in place only with ReadHint::kAlone
  std::unique_ptr<const ChunkParts> parts_;  // null if parts cannot be decoded
  std::shared_ptr<ChunkSpill> spill_;
  std::vector<uint64_t> strides_;  // bytes from one index to the next, per dimension
};

// All elements of a small array as nested lists (one element for rank 0): the
// `value` of NDL documents.
model::Result<model::Value> ReadValue(const ArrayReader& reader);

// "0.3.1"; "0" for rank 0.
std::string FormatChunkIndex(std::span<const uint64_t> index);

}  // namespace ndlfs::cache
