// SPDX-License-Identifier: MIT
#pragma once

#include <openjpeg.h>

#include <cstdint>
#include <functional>

#include "backends/base/bytes.h"
#include "backends/codec/picture/decoders.h"
#include "model/error.h"

namespace ndlfs::backends {

// The size and the type of a picture, by the headers of its JPEG 2000 codestream. kUnsupported
// if its components differ in size or type, or if libopenjp2 would need much more memory or
// time than for ordinary pictures of values.
struct Jpeg2000Header {
  PictureSize size;
  unsigned block_bits = 34;  // blocks of 2^34 numbers, or fewer, are coded by themselves
  unsigned bits = 0;
  bool is_signed = false;
};
model::Result<Jpeg2000Header> ReadJpeg2000Header(ConstByteSpan codestream);

// Decodes the first `rows` rows of a codestream whose header was read, and calls `take` for
// some of them at once: each component has their numbers, and `first` is the number of the
// first one. What the library needs is charged (model::MemoryBudget), or refused.
using TakeJpeg2000Rows = std::function<void(const opj_image_t& image, uint64_t first)>;
model::Result<void> DecodeJpeg2000Rows(ConstByteSpan codestream, const Jpeg2000Header& header,
                                       uint64_t rows, const TakeJpeg2000Rows& take);

}  // namespace ndlfs::backends
