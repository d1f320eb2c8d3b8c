// SPDX-License-Identifier: MIT
#pragma once

#include <openjpeg.h>

#include <cstdint>
#include <memory>

#include "backends/base/bytes.h"
#include "backends/codec/picture/decoders.h"
#include "model/error.h"

namespace ndlfs::backends {

using Jpeg2000Image = std::unique_ptr<opj_image_t, decltype(&opj_image_destroy)>;

// The size and the type of a picture, by the headers of its JPEG 2000 codestream. kUnsupported
// if its components differ in size or type, or if libopenjp2 would need much more memory or
// time than for ordinary pictures of values.
struct Jpeg2000Header {
  PictureSize size;
  unsigned bits = 0;
  bool is_signed = false;
};
model::Result<Jpeg2000Header> ReadJpeg2000Header(ConstByteSpan codestream);

// Decodes a codestream whose header was read. Each component has as many numbers as the header
// says.
model::Result<Jpeg2000Image> DecodeJpeg2000Image(ConstByteSpan codestream,
                                                 const Jpeg2000Header& header);

}  // namespace ndlfs::backends
