// SPDX-License-Identifier: MIT
//
// Bytes in the form of a compressor, without being compressed: each of these forms has blocks
// of plain bytes. So a chunk that was stored in another way than the chunks around it can be
// shown as they are, and the size is known without the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/base/json.h"
#include "model/datatype.h"

namespace ndlfs::backends {

// The encoded form of a chunk that is not compressed. Immutable and thread-safe.
class PlainFrame {
 public:
  // `codecs`: as ChunkEncoding::bytes_codecs. `stored`: the elements as they are stored.
  // `count`: the number of elements, not 0. nullopt for codecs that cannot be written so.
  static std::optional<PlainFrame> Make(const Json& codecs, const model::Datatype& stored,
                                        uint64_t count);

  // Of the encoded chunk.
  uint64_t size() const;
  // Fills `out` with the encoded bytes from `offset` on, which are inside of size(). `decoded`
  // has the elements of the chunk, little-endian; or one element that all of them are equal to.
  void Read(ConstByteSpan decoded, uint64_t offset, ByteSpan out) const;

 private:
  enum class Form : uint8_t { kNone, kZlib, kGzip, kZstd, kBlosc };
  // Where bytes of the frame itself are.
  struct Shape {
    uint64_t header = 0;
    uint64_t block = 0;         // the most bytes of the chunk in a block
    uint64_t block_header = 0;  // in front of each of them
    uint64_t trailer = 0;
  };

  static std::optional<Form> FormOf(const Json& codec);
  static Shape ShapeOf(Form form, uint64_t bytes);
  uint64_t blocks() const;
  void Header(std::byte* out) const;
  void BlockHeader(uint64_t number, std::byte* out) const;
  void Trailer(ConstByteSpan decoded, std::byte* out) const;
  // The bytes of the chunk from `offset` on as they go into the frame.
  void Payload(ConstByteSpan decoded, uint64_t offset, ByteSpan out) const;
  void Shuffled(ConstByteSpan decoded, uint64_t offset, ByteSpan out) const;

  Form form_ = Form::kNone;
  Shape shape_;
  uint64_t count_ = 0;
  uint64_t bytes_ = 0;    // of the chunk
  uint64_t element_ = 1;  // bytes
  uint64_t number_ = 1;   // bytes of the numbers that elements are made of
  bool is_shuffled_ = false;
  bool is_swapped_ = false;
};

}  // namespace ndlfs::backends
