// SPDX-License-Identifier: MIT
#include <webp/decode.h>

#include <cstring>

#include "backends/codec/picture/decoders.h"

namespace ndlfs::backends {

model::Result<void> DecodeWebp(ConstByteSpan picture, const PictureForm& form, ByteSpan out) {
  NDLFS_RETURN_IF_ERROR(CheckPictureType(form, model::Datatype::Integer(1, false)));
  const auto* data = reinterpret_cast<const uint8_t*>(picture.data());
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(data, picture.size(), &features) != VP8_STATUS_OK) {
    return model::Corrupt("no WebP picture");
  }
  if (features.has_animation != 0) return model::Unsupported("a WebP picture that moves");
  // A picture without an alpha sample is opaque; one that nobody wants is left out.
  const uint64_t samples = form.samples.value_or(features.has_alpha != 0 ? 4 : 3);
  if (samples != 3 && samples != 4) {
    return model::Corrupt("a WebP picture, expected {} samples", samples);
  }
  const auto width = static_cast<uint64_t>(features.width);
  const auto height = static_cast<uint64_t>(features.height);
  NDLFS_TRY(const uint64_t row_bytes,
            CheckPictureSize(form, {width, height, samples}, out.size()));
  const auto decode = samples == 4 ? WebPDecodeRGBAInto : WebPDecodeRGBInto;
  const WholePicture whole(row_bytes * height, out);
  const ByteSpan into = whole.span();
  if (decode(data, picture.size(), reinterpret_cast<uint8_t*>(into.data()), into.size(),
             static_cast<int>(row_bytes)) == nullptr) {
    return model::Corrupt("a WebP picture that is invalid or cut");
  }
  if (into.data() != out.data()) std::memcpy(out.data(), into.data(), out.size());
  return {};
}

}  // namespace ndlfs::backends
