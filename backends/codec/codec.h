// SPDX-License-Identifier: MIT
//
// Codecs, in the three kinds of Zarr v3. ndlfs only decodes. Reading applies
// a chain backwards:
//
//   encoded --bytes to bytes--> encoded --array to bytes--> elements
//           --array to array--> elements of the chunk
//
// Codecs are immutable, shared by threads, and hold no buffers. They decode
// into memory of the caller, whose size bounds what they can produce, and
// never write past it, whatever the encoded bytes say.
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
  // One element as decoded, for parts of a chunk that a codec (sharding) leaves
  // out; empty means zeros.
  std::vector<std::byte> fill = {};

  // nullopt where they overflow.
  std::optional<uint64_t> element_count() const { return CheckedProduct(shape); }
  // Of elements of fixed size.
  std::optional<uint64_t> byte_size() const { return CheckedProduct(shape, dtype.size()); }
};

// transpose, reshape, cast_value, scale_offset, ...
class ArrayToArrayCodec {
 public:
  virtual ~ArrayToArrayCodec() = default;
  virtual std::string_view name() const = 0;
  // What Encode would make of `decoded`, and of its fill value; refuses a form
  // it does not apply to.
  // Shapes may have any extents (the chunks at the edge of a grid may be
  // smaller), so that this is asked again for each shape.
  virtual model::Result<ChunkForm> EncodedForm(const ChunkForm& decoded) const = 0;
  // True when the encoded elements are the decoded ones, byte for byte; Decode
  // need not be called then. Holds for smaller chunks if it holds for `form`.
  virtual bool IsIdentity(const ChunkForm& /*form*/) const { return false; }
  // `encoded` and `decoded` have exactly the sizes of their forms, and do not
  // overlap.
  virtual model::Result<void> Decode(ConstByteSpan encoded, const ChunkForm& form,
                                     ByteSpan decoded) const = 0;
  // The same for an element stream (see array_source.h) of at most `limit`
  // bytes, before and after. Only called where EncodedForm accepted a type of
  // variable size.
  virtual model::Result<Bytes> DecodeVariable(ConstByteSpan encoded, const ChunkForm& form,
                                              uint64_t limit) const;
};

// bytes, packbits, sharding_indexed, n5_default, vlen-utf8, ...
class ArrayToBytesCodec {
 public:
  virtual ~ArrayToBytesCodec() = default;
  virtual std::string_view name() const = 0;
  // Bytes that `form` is encoded to, where that is the same for all values.
  virtual std::optional<uint64_t> EncodedSize(const ChunkForm& form) const = 0;
  // The most bytes that `form` is ever encoded to, kMaxViewSize where nothing
  // bounds them. To be overridden where EncodedSize gives nothing.
  virtual uint64_t MaxEncodedSize(const ChunkForm& form) const {
    return EncodedSize(form).value_or(kMaxViewSize);
  }
  // True when the encoded bytes are the elements themselves, so that they
  // can be read in place; Decode is a copy then.
  virtual bool IsIdentity(const ChunkForm& /*form*/) const { return false; }
  // True when Decode may be given the same memory as `encoded` and `decoded`.
  // Otherwise they do not overlap.
  virtual bool DecodesInPlace(const ChunkForm& /*form*/) const { return false; }
  // Decodes elements of fixed size, in the form (and the byte order: little)
  // of `form`. `decoded` has exactly the size of `form`.
  virtual model::Result<void> Decode(ConstByteSpan encoded, const ChunkForm& form,
                                     ByteSpan decoded) const = 0;
  // Decodes elements of variable size into an element stream (see
  // array_source.h) of at most `limit` bytes. Only called where
  // form.dtype.is_fixed_size() is false.
  virtual model::Result<Bytes> DecodeVariable(ConstByteSpan encoded, const ChunkForm& form,
                                              uint64_t limit) const;
};

// An encoded chunk that is read in parts.
class EncodedChunk {
 public:
  virtual ~EncodedChunk() = default;
  virtual uint64_t size() const = 0;
  // Fills `out` with the bytes from `offset`; they lie within size().
  virtual model::Result<void> Read(uint64_t offset, ByteSpan out) const = 0;
};

// gzip, zstd, blosc, crc32c, shuffle, delta, ...
class BytesToBytesCodec {
 public:
  virtual ~BytesToBytesCodec() = default;
  virtual std::string_view name() const = 0;

  // How many bytes `decoded_size` bytes are encoded to: exact for checksums
  // and shuffles; otherwise an upper bound for sound data, with some slack for
  // encoders that waste. Nothing larger is ever read.
  struct SizeBound {
    uint64_t size;
    bool exact;
  };
  virtual SizeBound EncodedSize(uint64_t decoded_size) const = 0;

  // Decodes into the beginning of `decoded`, returns the number of bytes
  // produced. kCorrupt if there would be more than decoded.size().
  virtual model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const = 0;

  // True when the decoded bytes are a part of the encoded ones (checksums,
  // and filters that only encoding applies); then they need not be copied.
  virtual bool DecodesToPart() const { return false; }
  // That part, after all checks. Only called where DecodesToPart().
  virtual model::Result<ConstByteSpan> DecodePart(ConstByteSpan encoded) const;

  // True when it encodes block by block, without a checksum of them all: then
  // what lies in some blocks can be decoded without the others, and they need
  // not be read. Only then the following are called.
  virtual bool DecodesRanges() const { return false; }
  // Bytes that are decoded together, the last ones of a chunk excepted; at most
  // `decoded_size`, which is what the whole is known to decode to.
  virtual model::Result<uint64_t> BlockSize(const EncodedChunk& encoded,
                                            uint64_t decoded_size) const;
  // Fills `out` with what Decode makes from `offset` on, within `decoded_size`.
  // Where Decode fails this may succeed, if what is wrong lies elsewhere; where
  // both succeed, they agree. Fails as well where a block is larger than
  // `max_block`; takes no more memory than RangeMemory(max_block).
  virtual model::Result<void> DecodeRange(const EncodedChunk& encoded, uint64_t decoded_size,
                                          uint64_t offset, uint64_t max_block,
                                          ByteSpan out) const;
};

// The bound of a general-purpose compressor: what incompressible data may
// grow to under any of them, and a little more.
inline BytesToBytesCodec::SizeBound CompressorBound(uint64_t decoded_size) {
  return {decoded_size + decoded_size / 16 + 65536, false};
}

// What DecodeRange takes beside what it fills: a table of blocks, and a block
// before and after.
inline constexpr uint64_t kMaxBlockTable = uint64_t{64} << 10;
inline uint64_t RangeMemory(uint64_t max_block) {
  return max_block + CompressorBound(max_block).size + kMaxBlockTable;
}

}  // namespace ndlfs::backends
