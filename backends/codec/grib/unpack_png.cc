// SPDX-License-Identifier: MIT
//
// Values as the pixels of a PNG picture (5.41): grey of 1 to 16 bits, or the bytes of RGB and
// RGBA as one number of 24 or 32 bits.
#include "backends/base/checked.h"
#include "backends/codec/grib/bits.h"
#include "backends/codec/grib/unpack.h"

#if NDLFS_WITH_LIBPNG
#include "backends/codec/stream/png_pixels.h"
#endif

namespace ndlfs::backends {

#if NDLFS_WITH_LIBPNG
template <typename T>
model::Result<void> UnpackGribPng(const GribPacked& packed, std::span<T> out) {
  NDLFS_TRY(const PngHeader header, ReadPngHeader(packed.data));
  const unsigned bits = header.bits();
  if (bits > 32) return model::Unsupported("a PNG picture of {} bits", bits);
  if (CheckedMultiply(header.width, header.height) != out.size()) {
    return model::Corrupt("a PNG picture of {} x {} pixels for {} values", header.width,
                          header.height, out.size());
  }
  Bytes pixels(header.row_bytes() * header.height);
  NDLFS_RETURN_IF_ERROR(DecodePng(packed.data, header, pixels.span()));
  const GribScaling scaling(packed.packing);
  if (bits == 8 || bits == 16 || bits == 32) {
    ScaleGribNumbers(pixels.data(), bits / 8, true, scaling, out);
    return {};
  }
  // Each row ends with a whole byte.
  T* to = out.data();
  for (uint64_t row = 0; row < header.height; ++row) {
    ForGribBits(pixels.span(), row * header.row_bytes() * 8, bits, header.width,
                [&](uint64_t x) { *to++ = scaling.Value<T>(static_cast<int64_t>(x)); });
  }
  return {};
}
#else
template <typename T>
model::Result<void> UnpackGribPng(const GribPacked&, std::span<T>) {
  return model::Unsupported("PNG packing (libpng) is not built in");
}
#endif
template model::Result<void> UnpackGribPng(const GribPacked&, std::span<float>);
template model::Result<void> UnpackGribPng(const GribPacked&, std::span<double>);

}  // namespace ndlfs::backends
