// SPDX-License-Identifier: MIT
#include "backends/codec/byte_swap.h"
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
  WholePicture whole(header.row_bytes() * header.height, out);
  NDLFS_RETURN_IF_ERROR(DecodePng(picture, header, whole.span()));
  // Samples are big-endian.
  SwapNumbers(item, whole.span().first(out.size()), out);
  return {};
}

}  // namespace ndlfs::backends
