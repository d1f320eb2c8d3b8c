// SPDX-License-Identifier: MIT
//
// Values as the pixels of a JPEG 2000 codestream (5.40), decoded by libopenjp2. The library
// allocates what headers say, so that these are read first (ISO/IEC 15444-1, annex A).
#include <algorithm>
#include <memory>

#include "backends/base/checked.h"
#include "backends/codec/grib/octets.h"
#include "backends/codec/grib/unpack.h"

#if NDLFS_WITH_OPENJPEG
#include <openjpeg.h>

#include <cstring>
#endif

namespace ndlfs::backends {

#if NDLFS_WITH_OPENJPEG
namespace {

// Walks the markers of a codestream, and refuses what would take the library more memory or
// time than pictures of values do.
class J2kHeaders {
 public:
  J2kHeaders(ConstByteSpan data, uint64_t pixels) : data_(data), in_(data), pixels_(pixels) {}

  model::Result<void> Check() {
    constexpr unsigned kStart = 0xff4f, kSize = 0xff51;
    if (in_.U16(1) != kStart || in_.U16(3) != kSize) {
      return model::Corrupt("no JPEG 2000 codestream");
    }
    NDLFS_RETURN_IF_ERROR(CheckSize(5));
    for (size_t at = 3; at + 3 <= data_.size();) {
      const unsigned marker = in_.U16(at);
      const size_t length = in_.U16(at + 2);
      if (marker == kTileMarker) return CheckTiles(at);
      if (length < 2) return model::Corrupt("a marker of {} bytes", length);
      NDLFS_RETURN_IF_ERROR(CheckMarker(marker, at + 2));
      at += 2 + length;
    }
    return model::Corrupt("a JPEG 2000 codestream that is cut");
  }

 private:
  static constexpr unsigned kTileMarker = 0xff90, kDataMarker = 0xff93;
  static constexpr uint64_t kMaxTiles = 1024;
  // The library has a table of some hundred bytes for each precinct, and of two bytes for each
  // packet, which is a layer of a precinct.
  static constexpr uint64_t kMaxPrecincts = uint64_t{1} << 16;
  static constexpr uint64_t kMaxPackets = uint64_t{1} << 24;

  // SIZ, whose length is at `octet`.
  model::Result<void> CheckSize(size_t octet) {
    const uint64_t right = in_.U32(octet + 4), bottom = in_.U32(octet + 8);
    const uint64_t left = in_.U32(octet + 12), top = in_.U32(octet + 16);
    const uint64_t tile_width = in_.U32(octet + 20), tile_height = in_.U32(octet + 24);
    const unsigned components = in_.U16(octet + 36), depth = in_.U8(octet + 38);
    const unsigned dx = in_.U8(octet + 39), dy = in_.U8(octet + 40);
    if (in_.is_short() || right <= left || bottom <= top || tile_width == 0 ||
        tile_height == 0) {
      return model::Corrupt("a JPEG 2000 picture without a size");
    }
    const uint64_t width = right - left, height = bottom - top;
    if (CheckedMultiply(width, height) != pixels_) {
      return model::Corrupt("a JPEG 2000 picture of {} x {} pixels for {} values", width,
                            height, pixels_);
    }
    if (components != 1 || dx != 1 || dy != 1 || (depth & 0x80) != 0 || (depth & 0x7f) >= 31) {
      return model::Unsupported("a JPEG 2000 picture of {} components, the first of {} bits",
                                components, (depth & 0x7f) + 1);
    }
    const uint64_t tiles = (right / tile_width + 1) * (bottom / tile_height + 1);
    if (tiles <= kMaxTiles) return {};
    return model::Unsupported("a JPEG 2000 picture of {} tiles", tiles);
  }

  // A marker that says how the picture is coded.
  model::Result<void> CheckMarker(unsigned marker, size_t octet) {
    constexpr unsigned kCoding = 0xff52, kComponentCoding = 0xff53, kOrderChange = 0xff5f;
    if (marker == kComponentCoding || marker == kOrderChange) {
      return model::Unsupported("a JPEG 2000 picture with marker {:#x}", marker);
    }
    if (marker != kCoding) return {};
    const bool has_precincts = (in_.U8(octet + 2) & 1) != 0;
    const uint64_t layers = in_.U16(octet + 4), levels = in_.U8(octet + 7);
    if (levels > 32) return model::Corrupt("a JPEG 2000 picture of {} levels", levels);
    uint64_t precincts = 1;  // at the finest level, which has most
    if (has_precincts) {
      unsigned least = 32;
      for (uint64_t level = 0; level <= levels; ++level) {
        const unsigned size = in_.U8(octet + 12 + level);
        least = std::min(least, (size & 15) + (size >> 4));
      }
      precincts += pixels_ >> least;
    }
    precincts *= levels + 1;
    if (precincts <= kMaxPrecincts && layers * precincts <= kMaxPackets) return {};
    return model::Unsupported("a JPEG 2000 picture of {} layers and {} precincts", layers,
                              precincts);
  }

  // The tile parts from `at` on, which may have markers of their own.
  model::Result<void> CheckTiles(size_t at) {
    while (at + 12 <= data_.size() && in_.U16(at) == kTileMarker) {
      const uint64_t part = in_.U32(at + 6);
      size_t header = at + 12;
      while (header + 3 <= data_.size() && in_.U16(header) != kDataMarker) {
        const size_t length = in_.U16(header + 2);
        if (length < 2) return model::Corrupt("a marker of {} bytes", length);
        NDLFS_RETURN_IF_ERROR(CheckMarker(in_.U16(header), header + 2));
        header += 2 + length;
      }
      if (part == 0) return {};  // goes to the end
      if (part < 14) return model::Corrupt("a part of a tile of {} bytes", part);
      at += part;
    }
    return {};
  }

  ConstByteSpan data_;
  GribOctets in_;
  uint64_t pixels_;
};

struct J2kInput {
  ConstByteSpan data;
  size_t at = 0;
};

OPJ_SIZE_T ReadJ2kBytes(void* out, OPJ_SIZE_T size, void* user) {
  auto* input = static_cast<J2kInput*>(user);
  const size_t count = std::min<size_t>(size, input->data.size() - input->at);
  if (count == 0) return static_cast<OPJ_SIZE_T>(-1);
  std::memcpy(out, input->data.data() + input->at, count);
  input->at += count;
  return count;
}

OPJ_BOOL SeekJ2k(OPJ_OFF_T to, void* user) {
  auto* input = static_cast<J2kInput*>(user);
  if (to < 0 || static_cast<uint64_t>(to) > input->data.size()) return OPJ_FALSE;
  input->at = static_cast<size_t>(to);
  return OPJ_TRUE;
}

OPJ_OFF_T SkipJ2kBytes(OPJ_OFF_T size, void* user) {
  auto* input = static_cast<J2kInput*>(user);
  if (size < 0 || static_cast<uint64_t>(size) > input->data.size() - input->at) return -1;
  input->at += static_cast<size_t>(size);
  return size;
}

void IgnoreJ2kMessage(const char*, void*) {}

using J2kCodec = std::unique_ptr<opj_codec_t, decltype(&opj_destroy_codec)>;
using J2kStream = std::unique_ptr<opj_stream_t, decltype(&opj_stream_destroy)>;
using J2kImage = std::unique_ptr<opj_image_t, decltype(&opj_image_destroy)>;

J2kStream MakeJ2kStream(J2kInput& input) {
  constexpr OPJ_SIZE_T kMaxBuffer = 1 << 16;
  J2kStream stream(
      opj_stream_create(std::min<OPJ_SIZE_T>(kMaxBuffer, input.data.size()), OPJ_TRUE),
      opj_stream_destroy);
  if (!stream) return stream;
  opj_stream_set_user_data(stream.get(), &input, nullptr);
  opj_stream_set_user_data_length(stream.get(), input.data.size());
  opj_stream_set_read_function(stream.get(), ReadJ2kBytes);
  opj_stream_set_seek_function(stream.get(), SeekJ2k);
  opj_stream_set_skip_function(stream.get(), SkipJ2kBytes);
  return stream;
}

model::Result<J2kImage> DecodeJ2k(ConstByteSpan data) {
  J2kInput input{data};
  const J2kCodec codec(opj_create_decompress(OPJ_CODEC_J2K), opj_destroy_codec);
  const J2kStream stream = MakeJ2kStream(input);
  if (!codec || !stream) return model::Limit("not enough memory to decode a picture");
  for (const auto set :
       {opj_set_info_handler, opj_set_warning_handler, opj_set_error_handler}) {
    set(codec.get(), IgnoreJ2kMessage, nullptr);
  }
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  opj_image_t* image = nullptr;
  bool is_good = opj_setup_decoder(codec.get(), &parameters) == OPJ_TRUE &&
                 opj_read_header(stream.get(), codec.get(), &image) == OPJ_TRUE;
  J2kImage owner(image, opj_image_destroy);
  is_good = is_good && opj_decode(codec.get(), stream.get(), image) == OPJ_TRUE &&
            opj_end_decompress(codec.get(), stream.get()) == OPJ_TRUE;
  if (!is_good) return model::Corrupt("a JPEG 2000 picture that is invalid or cut");
  return owner;
}

}  // namespace

template <typename T>
model::Result<void> UnpackGribJpeg2000(const GribPacked& packed, std::span<T> out) {
  NDLFS_RETURN_IF_ERROR(J2kHeaders(packed.data, out.size()).Check());
  NDLFS_TRY(const J2kImage image, DecodeJ2k(packed.data));
  if (image->numcomps != 1 || !image->comps[0].data ||
      uint64_t{image->comps[0].w} * image->comps[0].h != out.size()) {
    return model::Corrupt("a JPEG 2000 picture of another size than its header");
  }
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
