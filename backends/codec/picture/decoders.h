// SPDX-License-Identifier: MIT
//
// The decoders of pictures, one for each library; DecodePicture calls them.
#pragma once

#include <cstdint>

#include "backends/base/bytes.h"
#include "backends/codec/picture/picture.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::backends {

// What the headers of a picture say.
struct PictureSize {
  uint64_t width = 0;
  uint64_t height = 0;
  uint64_t samples = 0;
};

// The bytes of a row of the picture. kCorrupt unless it has the pixels that `form` and `bytes`
// of samples ask for.
model::Result<uint64_t> CheckPictureSize(const PictureForm& form, const PictureSize& found,
                                         uint64_t bytes);
// kUnsupported unless the samples of the picture have the type of `form`.
model::Result<void> CheckPictureType(const PictureForm& form, const model::Datatype& found);

// Memory for all rows of a picture: that of the caller, unless the picture has more of them.
class WholePicture {
 public:
  WholePicture(uint64_t bytes, ByteSpan out)
      : more_(bytes == out.size() ? Bytes() : Bytes(bytes)),
        span_(bytes == out.size() ? out : more_.span()) {}
  ByteSpan span() const { return span_; }

 private:
  Bytes more_;
  const ByteSpan span_;
};

// Each as DecodePicture.
model::Result<void> DecodeJpeg(const PictureRule& rule, ConstByteSpan picture,
                               const PictureForm& form, ByteSpan out);
model::Result<void> DecodeJpeg2000(ConstByteSpan picture, const PictureForm& form,
                                   ByteSpan out);
model::Result<void> DecodeJpegXl(const PictureRule& rule, ConstByteSpan picture,
                                 const PictureForm& form, ByteSpan out);
model::Result<void> DecodeLerc(const PictureRule& rule, ConstByteSpan picture,
                               const PictureForm& form, ByteSpan out);
model::Result<void> DecodePngPicture(ConstByteSpan picture, const PictureForm& form,
                                     ByteSpan out);
model::Result<void> DecodeWebp(ConstByteSpan picture, const PictureForm& form, ByteSpan out);

}  // namespace ndlfs::backends
