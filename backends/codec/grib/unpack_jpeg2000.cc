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
  const auto& [width, height, components] = header.size;
  if (CheckedMultiply(width, height) != out.size()) {
    return model::Corrupt("a JPEG 2000 picture of {} x {} pixels for {} values", width, height,
                          out.size());
  }
  if (components != 1 || header.is_signed) {
    return model::Unsupported("a JPEG 2000 picture of {} components, the first of {} bits",
                              components, header.bits);
  }
  NDLFS_TRY(const Jpeg2000Image image, DecodeJpeg2000Image(packed.data, header));
  const GribScaling scaling(packed.packing);
  const OPJ_INT32* pixels = image->comps[0].data;
  for (size_t i = 0; i < out.size(); ++i) out[i] = scaling.Value<T>(pixels[i]);
  return {};
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
