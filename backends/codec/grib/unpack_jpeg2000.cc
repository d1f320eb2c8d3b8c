// SPDX-License-Identifier: MIT
//
// Values as the pixels of a JPEG 2000 codestream (5.40).
#include "backends/base/checked.h"
#include "backends/codec/grib/unpack.h"

#if NDLFS_WITH_OPENJPEG
#include "backends/codec/picture/jpeg2000.h"
#endif

namespace ndlfs::backends {

#if NDLFS_WITH_OPENJPEG
template <typename T>
model::Result<void> UnpackGribJpeg2000(const GribPacked& packed, std::span<T> out) {
  NDLFS_TRY(const Jpeg2000Header header, ReadJpeg2000Header(packed.data));
  const uint64_t width = header.size.width, height = header.size.height;
  const uint64_t components = header.size.samples;
  if (CheckedMultiply(width, height) != out.size()) {
    return model::Corrupt("a JPEG 2000 picture of {} x {} pixels for {} values", width, height,
                          out.size());
  }
  if (components != 1 || header.is_signed) {
    return model::Unsupported("a JPEG 2000 picture of {} components, the first of {} bits",
                              components, header.bits);
  }
  const GribScaling scaling(packed.packing);
  return DecodeJpeg2000Rows(packed.data, header, height,
                            [&](const opj_image_t& image, uint64_t first) {
                              const opj_image_comp_t& pixels = image.comps[0];
                              const auto values = out.subspan(first * width);
                              for (size_t i = 0; i < uint64_t{pixels.w} * pixels.h; ++i) {
                                values[i] = scaling.Value<T>(pixels.data[i]);
                              }
                            });
}
#else
template <typename T>
model::Result<void> UnpackGribJpeg2000(const GribPacked&, std::span<T>) {
  return model::Unsupported("JPEG 2000 packing (libopenjp2) is not built in");
}
#endif
template model::Result<void> UnpackGribJpeg2000(const GribPacked&, std::span<float>);
template model::Result<void> UnpackGribJpeg2000(const GribPacked&, std::span<double>);

}  // namespace ndlfs::backends
