// SPDX-License-Identifier: MIT
//
// The layout of a shard (Zarr v3 `sharding_indexed`): inner chunks in any order,
// perhaps with gaps between them, and an index of their positions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/base/json.h"
#include "backends/codec/codec.h"
#include "backends/codec/codec_chain.h"
#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends {

// Immutable and safe to share between threads.
class ShardLayout {
 public:
  struct Parsed;
  // Reads the configuration of the codec, for shards of the form `shard`.
  static model::Result<Parsed> Parse(const Json& configuration, const ChunkForm& shard);

  // The shape of an inner chunk, which divides the shape of every shard.
  const std::vector<uint64_t>& inner_shape() const { return inner_shape_; }
  // The number of inner chunks along each dimension of a shard. Fails for a shape
  // that the inner chunks do not divide.
  model::Result<std::vector<uint64_t>> Counts(std::span<const uint64_t> shard_shape) const;

  // The bytes of the encoded index of a shard of `counts` inner chunks, and of the
  // decoded index that DecodeIndex returns.
  uint64_t EncodedIndexSize(const std::vector<uint64_t>& counts) const;
  static uint64_t DecodedIndexSize(const std::vector<uint64_t>& counts);

  // How to read the index of a shard that is a whole value, whatever its size.
  ReadOptions IndexOptions(const std::vector<uint64_t>& counts) const;

  // The position of the index in a shard of `size` bytes. Fails with kCorrupt if
  // the shard is too small for it.
  model::Result<ByteRange> IndexRange(const std::vector<uint64_t>& counts, uint64_t size) const;

  // Decodes the index of a shard of `size` bytes, and checks each entry: an inner
  // chunk has to lie in the shard, and must not overlap the index or another chunk.
  model::Result<Bytes> DecodeIndex(ConstByteSpan encoded, const std::vector<uint64_t>& counts,
                                   uint64_t size) const;

  // Whether entries of the index can be read without the others, once all of them were decoded
  // and no chunk was found to overlap another (HasOverlaps).
  bool has_plain_index() const { return has_plain_index_; }
  static bool HasOverlaps(ConstByteSpan index);
  // The bytes of `count` entries from `first` on, in a shard of `size` bytes. An entry has 16.
  model::Result<ByteRange> EntriesRange(const std::vector<uint64_t>& counts, uint64_t size,
                                        uint64_t first, uint64_t count) const;
  // Such entries, as DecodeIndex() returns all of them.
  model::Result<Bytes> DecodeEntries(ConstByteSpan encoded, const std::vector<uint64_t>& counts,
                                     uint64_t size) const;

  // The position of inner chunk `slot` (its index in C order) in the shard; nullopt
  // if the chunk is empty. `index` is the result of DecodeIndex. Fails with kCorrupt
  // for an entry that failed the check; other entries remain readable.
  static model::Result<std::optional<ByteRange>> Find(ConstByteSpan index, uint64_t slot);

 private:
  std::vector<uint64_t> inner_shape_;
  bool index_at_start_ = false;
  bool has_plain_index_ = false;
  CodecChain index_codecs_;
};

struct ShardLayout::Parsed {
  ShardLayout layout;
  const Json* inner_codecs;  // in the configuration
};

}  // namespace ndlfs::backends
