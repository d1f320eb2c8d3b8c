// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>

#include "backends/codec/picture/decoders.h"
#include "backends/codec/stream/png_pixels.h"

namespace ndlfs::backends {

model::Result<void> DecodePngPicture(ConstByteSpan picture, const PictureForm& form,
                                     ByteSpan out) {
  NDLFS_TRY(const PngHeader header, ReadPngHeader(picture));
  if (header.depth < 8) {
    return model::Unsupported("a PNG picture of {} bits", header.depth);
  }
  const uint64_t item = header.depth / 8;
  NDLFS_RETURN_IF_ERROR(CheckPictureType(form, model::Datatype::Integer(item, false)));
  NDLFS_RETURN_IF_ERROR(
      CheckPictureSize(form, {header.width, header.height, header.samples}, out.size()));
  NDLFS_TRY(Bytes pixels, DecodePng(picture, header));
  if (item == 2) {
    for (size_t i = 0; i + 1 < pixels.size(); i += 2) {
      std::swap(pixels.data()[i], pixels.data()[i + 1]);
    }
  }
  std::memcpy(out.data(), pixels.data(), std::min(out.size(), pixels.size()));
  return {};
}

}  // namespace ndlfs::backends
