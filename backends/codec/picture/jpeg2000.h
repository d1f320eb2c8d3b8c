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

// The size that the headers of a JPEG 2000 codestream say. kUnsupported for components that
// differ in size or type, and for what would take libopenjp2 more memory or time than pictures
// of values do.
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
