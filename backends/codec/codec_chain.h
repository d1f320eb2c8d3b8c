// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/codec/codec.h"
#include "backends/codec/decode_times.h"
#include "model/error.h"

namespace ndlfs::backends {

// Memory for the results between two codecs. A thread keeps it from one chunk to
// the next.
class Scratch {
 public:
  // Returns `size` bytes of the block `slot` (0 to 2). They are valid until the
  // next call with the same slot.
  ByteSpan Get(int slot, size_t size);
  // Frees the blocks that are larger than `keep` bytes.
  void Trim(size_t keep);

 private:
  static constexpr int kSlots = 3;
  Bytes slots_[kSlots];
};

// The codec pipeline of an array: any number of array to array codecs, one array
// to bytes codec, and any number of bytes to bytes codecs, in the order of
// encoding. It is validated once. Immutable and shared by threads.
class CodecChain {
 public:
  // `decoded` is the form of a full chunk, little-endian. Fails unless each codec
  // accepts the form that the one before it makes, and for more than 32 bytes to
  // bytes codecs. A codec may itself contain chains (sharding).
  static model::Result<CodecChain> Make(
      const ChunkForm& decoded,
      std::vector<std::shared_ptr<const ArrayToArrayCodec>> array_to_array,
      std::shared_ptr<const ArrayToBytesCodec> array_to_bytes,
      std::vector<std::shared_ptr<const BytesToBytesCodec>> bytes_to_bytes);
  CodecChain() = default;

  // The most bytes that a chunk of `shape` can encode to; kMaxViewSize if there is
  // no limit, as for most elements of variable size.
  uint64_t MaxEncodedSize(const std::vector<uint64_t>& shape) const;
  // The bytes that every chunk of `shape` encodes to; nullopt if that depends on
  // the values.
  std::optional<uint64_t> ExactEncodedSize(const std::vector<uint64_t>& shape) const;

  // The most bytes of scratch memory that decoding a chunk of `shape` takes; 0 for
  // elements of variable size, because it is not known beforehand.
  uint64_t MaxScratchSize(const std::vector<uint64_t>& shape) const;

  // Whether the encoded bytes are the elements themselves, so that they can be
  // read in place. Then true for full chunks and for smaller ones.
  bool IsIdentity() const;

  // Decodes one chunk. `decoded` has exactly the size of `shape`. A bit i that is
  // set in `skip` leaves out bytes to bytes codec i, like an HDF5 filter mask.
  // Errors name the codec; invalid data are kCorrupt. Each codec is counted in `times`, which
  // may be null.
  model::Result<void> Decode(ConstByteSpan encoded, const std::vector<uint64_t>& shape,
                             ByteSpan decoded, Scratch& scratch, uint32_t skip = 0,
                             DecodeTimes* times = nullptr) const;
  // The same for elements of variable size. Returns an element stream (see
  // array_source.h) of at most `limit` bytes.
  model::Result<Bytes> DecodeVariable(ConstByteSpan encoded, const std::vector<uint64_t>& shape,
                                      uint64_t limit, Scratch& scratch, uint32_t skip = 0,
                                      DecodeTimes* times = nullptr) const;

  // Whether a range of a chunk can be decoded without the rest: one codec of the chain can do
  // that, and all others do nothing.
  bool DecodesRanges() const;
  // As BytesToBytesCodec::BlockSize and DecodeRange, for a chunk of `shape`. Errors
  // name the codec.
  model::Result<uint64_t> BlockSize(const EncodedChunk& encoded,
                                    const std::vector<uint64_t>& shape) const;
  model::Result<void> DecodeRange(const EncodedChunk& encoded,
                                  const std::vector<uint64_t>& shape, uint64_t offset,
                                  uint64_t max_block, ByteSpan out) const;

  const model::Datatype& dtype() const { return dtype_; }

 private:
  struct Plan;
  class Run;
  model::Result<Plan> MakePlan(const std::vector<uint64_t>& shape, uint32_t skip) const;
  model::Result<void> AddForms(const std::vector<uint64_t>& shape, Plan& plan) const;
  void AddBounds(uint32_t skip, Plan& plan) const;
  void AddSteps(uint32_t skip, Plan& plan) const;
  // The plan for `shape`: full_plan_, or one that is made here and stored in
  // `made`.
  model::Result<const Plan*> PlanFor(const std::vector<uint64_t>& shape, uint32_t skip,
                                     std::shared_ptr<const Plan>& made) const;
  model::Result<ConstByteSpan> DecodeBytes(ConstByteSpan encoded, uint64_t limit,
                                           Scratch& scratch, uint32_t skip,
                                           DecodeTimer& timer) const;
  // The bytes that a chunk of `shape` decodes to, if DecodesRanges().
  model::Result<uint64_t> RangedSize(const std::vector<uint64_t>& shape) const;

  model::Datatype dtype_;
  std::vector<uint64_t> full_shape_;
  std::shared_ptr<const Plan> full_plan_;
  std::vector<std::shared_ptr<const ArrayToArrayCodec>> array_to_array_;
  std::shared_ptr<const ArrayToBytesCodec> array_to_bytes_;
  std::vector<std::shared_ptr<const BytesToBytesCodec>> bytes_to_bytes_;
};

}  // namespace ndlfs::backends
