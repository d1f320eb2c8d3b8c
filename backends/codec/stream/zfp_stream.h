// SPDX-License-Identifier: MIT
//
// Decodes zfp streams safely. libzfp reads its stream in words of 8 bytes, never checks for the
// end, and trusts the numbers in a header. This code copies the stream to memory with room for
// one more block after it, and decodes block by block. It notices a block that reads beyond the
// end of the stream before it decodes the next one.
#pragma once

#include <zfp.h>

#include <cstdint>
#include <span>

#include "backends/base/bytes.h"
#include "model/error.h"

namespace ndlfs::backends {

// The library's two descriptions, as values: of an array (zfp_field, without
// memory), and of how its blocks are encoded (zfp_stream, without a stream).

// An array of up to 4 dimensions, the fastest last. Without dimensions it is a
// list of one element.
zfp_field MakeZfpField(zfp_type type, std::span<const uint64_t> shape);

// The least restrictive parameters (expert mode, the library's default).
zfp_stream DefaultZfpParameters();

// Fails if blocks have fewer bits than the exponent at the beginning of a block of floats, or
// more bits than a header can express.
model::Result<void> CheckZfpParameters(const zfp_stream& parameters, zfp_type type);

// A full header: magic number and version, field, parameters.
struct ZfpHeader {
  zfp_field field;
  zfp_stream parameters;
  uint64_t bits;  // of the header; the blocks follow immediately
};
model::Result<ZfpHeader> ReadZfpHeader(ConstByteSpan encoded);

// The most bytes that `field` encodes to, with or without a header; kMaxViewSize
// for fields of more than 2^40 elements.
uint64_t MaxZfpSize(const zfp_field& field, const zfp_stream& parameters);

// The decoded size of all elements of `field`, in bytes.
uint64_t ZfpFieldBytes(const zfp_field& field);

// Decodes all elements of `field`, in C order and native byte order, into
// `decoded`, which has exactly their size. The blocks begin at bit `first_bit`.
// Fails with kCorrupt if `encoded` ends too early.
model::Result<void> DecodeZfpBlocks(const zfp_field& field, const zfp_stream& parameters,
                                    ConstByteSpan encoded, uint64_t first_bit,
                                    ByteSpan decoded);

}  // namespace ndlfs::backends
