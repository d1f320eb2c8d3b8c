// SPDX-License-Identifier: MIT
//
// The three kinds of codecs of Zarr v3. ndlfs only decodes, so that data pass
// through a chain backwards:
//
//   encoded --bytes to bytes--> encoded --array to bytes--> elements
//           --array to array--> elements of the chunk
//
// Codecs are immutable, shared by threads, and hold no buffers. They decode into
// memory of the caller. Its size is the limit: a codec never writes past it,
// whatever the encoded bytes say.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/base/checked.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::backends {

// The elements of one chunk between two codecs: C order, no gaps.
struct ChunkForm {
  model::Datatype dtype;
  std::vector<uint64_t> shape;
  // The fill value at this point of the chain, one element, for parts of a chunk that
  // are not stored (sharding). Empty means zeros.
  std::vector<std::byte> fill = {};

  // Both are nullopt on overflow.
  std::optional<uint64_t> element_count() const { return CheckedProduct(shape); }
  // Only for elements of fixed size.
  std::optional<uint64_t> byte_size() const { return CheckedProduct(shape, dtype.size()); }
};

// transpose, reshape, cast_value, scale_offset, ...
class ArrayToArrayCodec {
 public:
  virtual ~ArrayToArrayCodec() = default;
  virtual std::string_view name() const = 0;
  // The form that encoding makes of `decoded`, with the encoded fill value. Fails
  // for a form that the codec does not apply to. Callers ask once for each shape,
  // because chunks at the edge of a grid may be smaller.
  virtual model::Result<ChunkForm> EncodedForm(const ChunkForm& decoded) const = 0;
  // Whether encoded and decoded elements are the same bytes, so that Decode need
  // not be called. If true for `form`, it must be true for smaller chunks.
  virtual bool IsIdentity(const ChunkForm& /*form*/) const { return false; }
  // Decodes to `form`. `encoded` and `decoded` have exactly the sizes of their
  // forms, and do not overlap.
  virtual model::Result<void> Decode(ConstByteSpan encoded, const ChunkForm& form,
                                     ByteSpan decoded) const = 0;
  // The same for an element stream (see array_source.h). Neither stream is longer
  // than `limit` bytes. Only called if EncodedForm accepted a type of variable
  // size.
  virtual model::Result<Bytes> DecodeVariable(ConstByteSpan encoded, const ChunkForm& form,
                                              uint64_t limit) const;
};

// bytes, packbits, sharding_indexed, n5_default, vlen-utf8, ...
class ArrayToBytesCodec {
 public:
  virtual ~ArrayToBytesCodec() = default;
  virtual std::string_view name() const = 0;
  // The bytes that `form` encodes to; nullopt if that depends on the values.
  virtual std::optional<uint64_t> EncodedSize(const ChunkForm& form) const = 0;
  // The most bytes that `form` can encode to; kMaxViewSize if there is no limit.
  // Codecs whose EncodedSize is nullopt should override it.
  virtual uint64_t MaxEncodedSize(const ChunkForm& form) const {
    return EncodedSize(form).value_or(kMaxViewSize);
  }
  // Whether the encoded bytes are the elements themselves, so that they can be
  // read in place. Decode only copies then.
  virtual bool IsIdentity(const ChunkForm& /*form*/) const { return false; }
  // Whether `encoded` and `decoded` may be the same memory in Decode. Otherwise
  // they must not overlap.
  virtual bool DecodesInPlace(const ChunkForm& /*form*/) const { return false; }
  // Decodes elements of fixed size to `form`, which is little-endian. `decoded`
  // has exactly the size of `form`.
  virtual model::Result<void> Decode(ConstByteSpan encoded, const ChunkForm& form,
                                     ByteSpan decoded) const = 0;
  // Decodes elements of variable size to an element stream (see array_source.h)
  // of at most `limit` bytes. Only called if form.dtype.is_fixed_size() is false.
  virtual model::Result<Bytes> DecodeVariable(ConstByteSpan encoded, const ChunkForm& form,
                                              uint64_t limit) const;
};

// An encoded chunk that can be read in parts.
class EncodedChunk {
 public:
  virtual ~EncodedChunk() = default;
  virtual uint64_t size() const = 0;
  // Fills `out` with the bytes from `offset` on. The range must lie within
  // size().
  virtual model::Result<void> Read(uint64_t offset, ByteSpan out) const = 0;
};

// gzip, zstd, blosc, crc32c, shuffle, delta, ...
class BytesToBytesCodec {
 public:
  virtual ~BytesToBytesCodec() = default;
  virtual std::string_view name() const = 0;

  // The bytes that `decoded_size` bytes encode to: exact for checksums and shuffles; otherwise
  // an upper bound for valid data, generous enough for wasteful encoders. A longer chunk is
  // refused as corrupt, and not read.
  struct SizeBound {
    uint64_t size;
    bool exact;
  };
  virtual SizeBound EncodedSize(uint64_t decoded_size) const = 0;

  // Decodes into the beginning of `decoded`, and returns the number of bytes
  // written. Fails with kCorrupt if more than decoded.size() are needed.
  virtual model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const = 0;

  // Whether the decoded bytes are a part of the encoded ones, so that they need
  // not be copied. True for checksums, and for filters without decoding.
  virtual bool DecodesToPart() const { return false; }
  // Checks `encoded` and returns that part. Only called if DecodesToPart().
  virtual model::Result<ConstByteSpan> DecodePart(ConstByteSpan encoded) const;

  // Whether a range can be decoded without reading the whole chunk: the codec
  // encodes in blocks, and has no checksum over all of them. The two functions
  // below are only called if true.
  virtual bool DecodesRanges() const { return false; }
  // The decoded size of a block in bytes; the last block may be smaller. At most
  // `decoded_size`, the decoded size of the whole chunk.
  virtual model::Result<uint64_t> BlockSize(const EncodedChunk& encoded,
                                            uint64_t decoded_size) const;
  // Fills `out` with the decoded bytes from `offset` on; the range must lie within
  // `decoded_size`. Gives the same bytes as Decode, but may succeed if Decode
  // fails because of bytes elsewhere. Fails if a block is larger than `max_block`.
  // Allocates no more than RangeMemory(max_block).
  virtual model::Result<void> DecodeRange(const EncodedChunk& encoded, uint64_t decoded_size,
                                          uint64_t offset, uint64_t max_block,
                                          ByteSpan out) const;
};

// The EncodedSize of a general-purpose compressor: an upper bound of what any of them makes of
// incompressible data.
inline BytesToBytesCodec::SizeBound CompressorBound(uint64_t decoded_size) {
  return {decoded_size + decoded_size / 16 + 65536, false};
}

// The bytes of memory that DecodeRange allocates: a table of blocks, and one
// block, encoded and decoded.
inline constexpr uint64_t kMaxBlockTable = uint64_t{64} << 10;
inline uint64_t RangeMemory(uint64_t max_block) {
  return max_block + CompressorBound(max_block).size + kMaxBlockTable;
}

}  // namespace ndlfs::backends
