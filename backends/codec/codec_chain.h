// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/codec/codec.h"
#include "model/error.h"

namespace ndlfs::backends {

// Memory for the steps between, kept by a thread from one chunk to the next.
class Scratch {
 public:
  // A block of at least `size` bytes, distinct for each `slot` (0..2). Its
  // contents are lost when the same slot is asked for again.
  ByteSpan Get(int slot, size_t size);
  // Gives back what is larger than `keep` bytes.
  void Trim(size_t keep);

 private:
  static constexpr int kSlots = 3;
  Bytes slots_[kSlots];
};

// A whole codec pipeline, validated once for an array: any number of array to
// array codecs, one array to bytes codec, any number of bytes to bytes codecs,
// in write order. Immutable and shared by threads.
class CodecChain {
 public:
  // `decoded` is the form of a full chunk: little-endian elements. Checks that
  // each codec accepts what the one before makes. At most 32 bytes to bytes
  // codecs. A codec may itself hold chains (sharding).
  static model::Result<CodecChain> Make(
      const ChunkForm& decoded,
      std::vector<std::shared_ptr<const ArrayToArrayCodec>> array_to_array,
      std::shared_ptr<const ArrayToBytesCodec> array_to_bytes,
      std::vector<std::shared_ptr<const BytesToBytesCodec>> bytes_to_bytes);
  CodecChain() = default;

  // A chunk of `shape` is no more than this many bytes when encoded.
  // kMaxViewSize where nothing bounds it, as for most elements of variable size.
  uint64_t MaxEncodedSize(const std::vector<uint64_t>& shape) const;
  // The exact number, where all chunks of `shape` are encoded to the same.
  std::optional<uint64_t> ExactEncodedSize(const std::vector<uint64_t>& shape) const;

  // Bytes of scratch memory that decoding a chunk of `shape` takes at most; 0
  // for elements of variable size, of which nothing is known beforehand.
  uint64_t MaxScratchSize(const std::vector<uint64_t>& shape) const;

  // True when encoded bytes are the elements: they may be read in place. Holds
  // for the shape that the chain was made for and for smaller ones.
  bool IsIdentity() const;

  // Decodes one chunk. `decoded` has exactly the size of `shape`. Bit i of
  // `skip` leaves out bytes to bytes codec i, as an HDF5 filter mask does.
  // Errors are kCorrupt and name the codec.
  model::Result<void> Decode(ConstByteSpan encoded, const std::vector<uint64_t>& shape,
                             ByteSpan decoded, Scratch& scratch, uint32_t skip = 0) const;
  // The same for elements of variable size; see array_source.h.
  model::Result<Bytes> DecodeVariable(ConstByteSpan encoded, const std::vector<uint64_t>& shape,
                                      uint64_t limit, Scratch& scratch,
                                      uint32_t skip = 0) const;

  // True when a range of a chunk can be decoded without the rest of it: there is
  // nothing to undo but one codec that can do that.
  bool DecodesRanges() const;
  // BytesToBytesCodec::BlockSize and DecodeRange of a chunk of `shape`. Errors
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
  // The plan for `shape`; `made` holds it if it is not that of a full chunk.
  model::Result<const Plan*> PlanFor(const std::vector<uint64_t>& shape, uint32_t skip,
                                     std::shared_ptr<const Plan>& made) const;
  model::Result<ConstByteSpan> DecodeBytes(ConstByteSpan encoded, uint64_t limit,
                                           Scratch& scratch, uint32_t skip) const;
  // What a chunk of `shape` decodes to, where DecodesRanges().
  model::Result<uint64_t> RangedSize(const std::vector<uint64_t>& shape) const;

  model::Datatype dtype_;
  std::vector<uint64_t> full_shape_;
  std::shared_ptr<const Plan> full_plan_;
  std::vector<std::shared_ptr<const ArrayToArrayCodec>> array_to_array_;
  std::shared_ptr<const ArrayToBytesCodec> array_to_bytes_;
  std::vector<std::shared_ptr<const BytesToBytesCodec>> bytes_to_bytes_;
};

}  // namespace ndlfs::backends
