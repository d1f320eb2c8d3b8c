// SPDX-License-Identifier: MIT
//
// The layout of a shard (Zarr v3 `sharding_indexed`): inner chunks in any
// order, with gaps between them, and an index of where each one is.
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

  // Of an inner chunk: divides the shape of every shard.
  const std::vector<uint64_t>& inner_shape() const { return inner_shape_; }
  // Inner chunks along each dimension of a shard; refuses a shape that the
  // inner chunks do not divide.
  model::Result<std::vector<uint64_t>> Counts(std::span<const uint64_t> shard_shape) const;

  // Bytes of the encoded index of a shard of `counts` inner chunks, and of the
  // decoded one that DecodeIndex makes.
  uint64_t EncodedIndexSize(const std::vector<uint64_t>& counts) const;
  static uint64_t DecodedIndexSize(const std::vector<uint64_t>& counts);

  // How to read the index of a shard that is a whole value, whatever its size.
  ReadOptions IndexOptions(const std::vector<uint64_t>& counts) const;

  // Where the index is in a shard of `size` bytes; kCorrupt if that is too
  // small to have one.
  model::Result<ByteRange> IndexRange(const std::vector<uint64_t>& counts, uint64_t size) const;

  // Decodes the index of a shard of `size` bytes, and checks each entry: an
  // inner chunk has to lie in the shard, beside the index and all others.
  model::Result<Bytes> DecodeIndex(ConstByteSpan encoded, const std::vector<uint64_t>& counts,
                                   uint64_t size) const;

  // Where inner chunk `slot` (its index in C order) lies in the shard, going
  // by what DecodeIndex made; nullopt if it is empty. An entry that failed the
  // check is kCorrupt; the others can be read all the same.
  static model::Result<std::optional<ByteRange>> Find(ConstByteSpan index, uint64_t slot);

 private:
  std::vector<uint64_t> inner_shape_;
  bool index_at_start_ = false;
  CodecChain index_codecs_;
};

struct ShardLayout::Parsed {
  ShardLayout layout;
  const Json* inner_codecs;  // in the configuration
};

}  // namespace ndlfs::backends
