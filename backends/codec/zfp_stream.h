// SPDX-License-Identifier: MIT
//
// libzfp made safe for bytes that nobody vouches for. The library reads its
// stream in words of 8 bytes and never asks where it ends, and it believes the
// numbers in a header. Here the stream is copied to where room follows that any
// block fits in, and blocks are decoded one by one, so that one that began
// within the stream and ended after it is noticed before the next is decoded.
#pragma once

#include <zfp.h>

#include <cstdint>
#include <span>

#include "backends/base/bytes.h"
#include "model/error.h"

namespace ndlfs::backends {

// The library's two descriptions, as values: of an array (zfp_field, without
// memory), and of how its blocks are encoded (zfp_stream, without a stream).

// An array of 1 to 4 dimensions, the fastest last; none counts as one of 1.
zfp_field MakeZfpField(zfp_type type, std::span<const uint64_t> shape);

// No more is ever spent on a block (expert mode, the default of the library).
zfp_stream DefaultZfpParameters();

// A block of floats that has no room for its exponent cannot be encoded.
model::Result<void> CheckZfpParameters(const zfp_stream& parameters, zfp_type type);

// A header that says all: magic number and version, field, parameters.
struct ZfpHeader {
  zfp_field field;
  zfp_stream parameters;
  uint64_t bits;  // the blocks follow at once
};
model::Result<ZfpHeader> ReadZfpHeader(ConstByteSpan encoded);

// The most bytes that `field` takes, with a header or without.
uint64_t MaxZfpSize(const zfp_field& field, const zfp_stream& parameters);

// The size of the elements of `field`.
uint64_t ZfpFieldBytes(const zfp_field& field);

// Decodes all elements of `field`, in C order and as they are in memory, into
// `decoded`, which has exactly their size. Their blocks begin at `first_bit`.
// kCorrupt if `encoded` ends before the last of them does.
model::Result<void> DecodeZfpBlocks(const zfp_field& field, const zfp_stream& parameters,
                                    ConstByteSpan encoded, uint64_t first_bit,
                                    ByteSpan decoded);

}  // namespace ndlfs::backends
