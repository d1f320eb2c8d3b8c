// SPDX-License-Identifier: MIT
//
// The digest of the elements of an array. ndlfs-digest(5) defines it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "backends/format/array_source.h"
#include "cache/array_reader.h"
#include "cache/array_sweep.h"
#include "cache/chunk_cache.h"
#include "fs/compare/canonical_type.h"
#include "fs/compare/sha256.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::fs {

// Computes the digest block by block. Thread-safe. The cache of the reader must outlive the
// object.
class ArrayDigest {
 public:
  // Elements of a block.
  static constexpr uint64_t kBlockElements = uint64_t{1} << 18;

  // Reads no chunk. kLimit for a type of too many parts.
  static model::Result<std::shared_ptr<ArrayDigest>> Make(
      std::shared_ptr<const cache::ArrayReader> reader);

  uint64_t block_count() const { return block_count_; }
  // The average work of a block, in bytes; never 0.
  uint64_t block_cost() const { return block_cost_; }

  // Reads and hashes a block; each block once. Threads should take them about in order. Returns
  // the bytes that were hashed. An error names the chunk.
  model::Result<uint64_t> Run(uint64_t block) EXCLUDES(mutex_);
  // The digest, if Run() has succeeded for all blocks. To be called once.
  Sha256Digest Finish() EXCLUDES(mutex_);

 private:
  ArrayDigest(std::shared_ptr<const cache::ArrayReader> reader, CanonicalType type);

  model::Result<uint64_t> HashFixed(uint64_t first, uint64_t count, Sha256& sum);
  model::Result<uint64_t> HashVariable(uint64_t first, uint64_t count, Sha256& sum) const;
  void AddBlock(uint64_t block, const Sha256Digest& digest) EXCLUDES(mutex_);

  const std::shared_ptr<const cache::ArrayReader> reader_;
  const CanonicalType type_;
  const uint64_t block_count_;
  const uint64_t block_cost_;

  cache::ArraySweep sweep_;
  model::Mutex mutex_;
  Sha256 sum_ GUARDED_BY(mutex_);
  uint64_t next_ GUARDED_BY(mutex_) = 0;  // the first block that is not in `sum_`
  // Digests of later blocks.
  std::map<uint64_t, Sha256Digest> waiting_ GUARDED_BY(mutex_);
};

// The digest of a whole array, computed by the calling thread.
model::Result<Sha256Digest> DigestOf(std::shared_ptr<const cache::ArrayReader> reader);

}  // namespace ndlfs::fs
