// SPDX-License-Identifier: MIT
//
// Reads an array whose elements lie in other arrays.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/format/array_source.h"
#include "cache/read_hint.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::cache {

class ArrayReader;
class ChunkCache;
class ChunkLedger;
struct LoadCounts;

// Cuts the element stream of a JoinedArray into the streams of its parts. Each part has a
// reader of its own, so the cache holds the chunks of parts. Keeps the readers of the parts
// that were used last. Thread-safe.
class JoinedReader {
 public:
  // `source`, which must have joined(), and `cache` must outlive the reader. `ledger`, which
  // may be null, notes the files of all parts; `counts` counts their chunks.
  JoinedReader(const backends::ArraySource& source, ChunkCache& cache,
               std::shared_ptr<ChunkLedger> ledger, std::shared_ptr<LoadCounts> counts);
  ~JoinedReader();

  // As ArrayReader::Read, little-endian. The range lies within the array.
  model::Result<void> Read(uint64_t offset, backends::ByteSpan out, ReadHint hint) const;

  // Chunk `index` of the join is made of chunks of parts. Calls `visit` for each of these, with
  // the reader of the part and the number of the chunk in the part. If they are very many, it
  // leaves some out. With `opens`, it opens the parts that it needs; without, it leaves out the
  // parts that are closed. It always leaves out parts that cannot be opened.
  void ForEachChunk(std::span<const uint64_t> index, bool opens,
                    const std::function<void(const ArrayReader&, uint64_t)>& visit) const;

 private:
  struct Part;
  using PartPtr = std::shared_ptr<const Part>;
  static constexpr size_t kMostOpen = 64;

  size_t PartAt(uint64_t coordinate) const;
  PartPtr FindOpen(size_t index) const EXCLUDES(mutex_);
  model::Result<PartPtr> Open(size_t index) const EXCLUDES(mutex_);
  model::Result<PartPtr> MakePart(size_t index) const;
  model::Result<void> NotePart(const backends::ContiguousRange& range) const;
  model::Result<void> CheckPart(size_t index, const Part& part) const;
  model::Result<void> ReadPart(const Part& part, uint64_t offset, backends::ByteSpan out,
                               ReadHint hint) const;

  const backends::ArraySource& source_;
  const backends::JoinedArray& joined_;
  ChunkCache& cache_;
  const std::shared_ptr<ChunkLedger> ledger_;
  const std::shared_ptr<LoadCounts> counts_;
  uint64_t stride_;  // bytes from one index along the dimension of the join to the next
  mutable model::Mutex mutex_;
  mutable std::list<std::pair<size_t, PartPtr>> open_ GUARDED_BY(mutex_);  // last used first
};

}  // namespace ndlfs::cache
