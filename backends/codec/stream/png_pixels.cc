// SPDX-License-Identifier: MIT
#include "backends/codec/stream/png_pixels.h"

#include <png.h>

#include <csetjmp>
#include <cstring>
#include <memory>

#include "backends/codec/little_endian.h"

namespace ndlfs::backends {
namespace {

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
bool ReadPngRows(png_structp png, png_infop info, const PngHeader& header, png_bytep pixels) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_read_info(png, info);
  if (png_get_rowbytes(png, info) != header.row_bytes()) return false;
  const int passes = png_set_interlace_handling(png);
  png_start_read_image(png);
  for (uint64_t i = 0; i < header.height * static_cast<unsigned>(passes); ++i) {
    png_read_row(png, pixels + i % header.height * header.row_bytes(), nullptr);
  }
  return true;
}

}  // namespace

model::Result<PngHeader> ReadPngHeader(ConstByteSpan data) {
  constexpr uint32_t kSignature = 0x89504e47, kSignatureEnd = 0x0d0a1a0a;
  constexpr uint32_t kIhdr = 0x49484452;
  constexpr size_t kHeaderBytes = 26;
  PngHeader header;
  const bool is_png = data.size() >= kHeaderBytes &&
                      LoadBig<uint32_t>(data.data()) == kSignature &&
                      LoadBig<uint32_t>(data.data() + 4) == kSignatureEnd &&
                      LoadBig<uint32_t>(data.data() + 12) == kIhdr;
  if (!is_png) return model::Corrupt("no PNG picture");
  header.width = LoadBig<uint32_t>(data.data() + 16);
  header.height = LoadBig<uint32_t>(data.data() + 20);
  header.depth = std::to_integer<unsigned>(data[24]);
  const auto colour = std::to_integer<unsigned>(data[25]);
  header.samples = colour == PNG_COLOR_TYPE_GRAY         ? 1
                   : colour == PNG_COLOR_TYPE_GRAY_ALPHA ? 2
                   : colour == PNG_COLOR_TYPE_RGB        ? 3
                   : colour == PNG_COLOR_TYPE_RGB_ALPHA  ? 4
                                                         : 0;
  if (header.bits() == 0 || header.depth > 16) {
    return model::Unsupported("a PNG picture of colour type {} and {} bits", colour,
                              header.depth);
  }
  return header;
}

model::Result<void> DecodePng(ConstByteSpan data, const PngHeader& header, ByteSpan pixels) {
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
  if (pixels.size() != header.row_bytes() * header.height) {
    return model::Internal("a picture is decoded into memory of another size");
  }
  if (!ReadPngRows(png, info, header, reinterpret_cast<png_bytep>(pixels.data()))) {
    return model::Corrupt("a PNG picture that is invalid or cut");
  }
  return {};
}

}  // namespace ndlfs::backends
