// SPDX-License-Identifier: MIT
//
// Values as the pixels of a PNG picture (5.41): grey of 1 to 16 bits, or the bytes of RGB and
// RGBA as one number of 24 or 32 bits.
#include "backends/base/checked.h"
#include "backends/codec/grib/bits.h"
#include "backends/codec/grib/octets.h"
#include "backends/codec/grib/unpack.h"

#if NDLFS_WITH_LIBPNG
#include <png.h>

#include <csetjmp>
#include <cstring>
#include <memory>
#endif

namespace ndlfs::backends {

#if NDLFS_WITH_LIBPNG
namespace {

struct PngHeader {
  uint64_t width = 0, height = 0;
  unsigned bits = 0;  // of a pixel
  uint64_t row_bytes() const { return (width * bits + 7) / 8; }
};

model::Result<PngHeader> ReadPngHeader(ConstByteSpan data) {
  constexpr uint64_t kSignature = 0x89504e470d0a1a0a;
  constexpr uint32_t kIhdr = 0x49484452;
  const GribOctets in(data);
  PngHeader header;
  const bool is_png = in.Unsigned(1, 8) == kSignature && in.U32(13) == kIhdr;
  header.width = in.U32(17);
  header.height = in.U32(21);
  const unsigned depth = in.U8(25), colour = in.U8(26);
  if (!is_png || in.is_short()) return model::Corrupt("no PNG picture");
  const unsigned samples = colour == PNG_COLOR_TYPE_GRAY         ? 1
                           : colour == PNG_COLOR_TYPE_GRAY_ALPHA ? 2
                           : colour == PNG_COLOR_TYPE_RGB        ? 3
                           : colour == PNG_COLOR_TYPE_RGB_ALPHA  ? 4
                                                                 : 0;
  header.bits = depth * samples;
  if (header.bits == 0 || header.bits > 32) {
    return model::Unsupported("a PNG picture of colour type {} and {} bits", colour, depth);
  }
  return header;
}

struct PngInput {
  const std::byte* next;
  size_t left;
};

void ReadPngBytes(png_structp png, png_bytep out, png_size_t size) {
  auto* input = static_cast<PngInput*>(png_get_io_ptr(png));
  if (size > input->left) png_error(png, "cut");
  std::memcpy(out, input->next, size);
  input->next += size;
  input->left -= size;
}

void IgnorePngWarning(png_structp, png_const_charp) {}
[[noreturn]] void JumpOutOfPng(png_structp png, png_const_charp) { png_longjmp(png, 1); }

// Decodes the rows into `pixels`, one after the other. `png` and `info` are of the caller, as
// longjmp() runs no destructors.
bool ReadPngRows(png_structp png, png_infop info, const PngHeader& header, png_bytep pixels,
                 png_bytepp rows) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_read_info(png, info);
  if (png_get_rowbytes(png, info) != header.row_bytes()) return false;
  for (uint64_t row = 0; row < header.height; ++row) {
    rows[row] = pixels + row * header.row_bytes();
  }
  png_read_image(png, rows);
  return true;
}

model::Result<Bytes> DecodePng(ConstByteSpan data, const PngHeader& header) {
  constexpr png_alloc_size_t kMostOfAChunk = 65536;
  png_structp png =
      png_create_read_struct(PNG_LIBPNG_VER_STRING, nullptr, JumpOutOfPng, IgnorePngWarning);
  png_infop info = png ? png_create_info_struct(png) : nullptr;
  const auto destroy = [&info](png_structp p) { png_destroy_read_struct(&p, &info, nullptr); };
  const std::unique_ptr<png_struct, decltype(destroy)> owner(png, destroy);
  if (!info) return model::Limit("not enough memory to decode a picture");
  PngInput input{data.data(), data.size()};
  png_set_read_fn(png, &input, ReadPngBytes);
  // The caller has compared the size with the number of values.
  png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_chunk_malloc_max(png, kMostOfAChunk);
  png_set_chunk_cache_max(png, 16);
  Bytes pixels(header.row_bytes() * header.height);
  const auto rows = std::make_unique<png_bytep[]>(header.height);
  if (!ReadPngRows(png, info, header, reinterpret_cast<png_bytep>(pixels.data()), rows.get())) {
    return model::Corrupt("a PNG picture that is invalid or cut");
  }
  return pixels;
}

}  // namespace

template <typename T>
model::Result<void> UnpackGribPng(const GribPacked& packed, std::span<T> out) {
  NDLFS_TRY(const PngHeader header, ReadPngHeader(packed.data));
  if (CheckedMultiply(header.width, header.height) != out.size()) {
    return model::Corrupt("a PNG picture of {} x {} pixels for {} values", header.width,
                          header.height, out.size());
  }
  NDLFS_TRY(const Bytes pixels, DecodePng(packed.data, header));
  const GribScaling scaling(packed.packing);
  if (header.bits == 8 || header.bits == 16 || header.bits == 32) {
    ScaleGribNumbers(pixels.data(), header.bits / 8, true, scaling, out);
    return {};
  }
  // Each row ends with a whole byte.
  T* to = out.data();
  for (uint64_t row = 0; row < header.height; ++row) {
    ForGribBits(pixels.span(), row * header.row_bytes() * 8, header.bits, header.width,
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
