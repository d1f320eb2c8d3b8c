// SPDX-License-Identifier: MIT
//
// JPEG 2000 by libopenjp2. The library allocates what headers say, so that these are read first
// (ISO/IEC 15444-1, annexes A and I).
#include "backends/codec/picture/jpeg2000.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>

#include "backends/base/checked.h"
#include "backends/base/load_number.h"
#include "backends/store/cancellation.h"
#include "model/memory_budget.h"

namespace ndlfs::backends {
namespace {

// Big-endian numbers. Bytes behind the end are 0, and is_short() tells of them afterwards.
class J2kBytes {
 public:
  explicit J2kBytes(ConstByteSpan bytes) : bytes_(bytes) {}

  bool is_short() const { return is_short_; }
  uint64_t Take(size_t at, size_t count) const {
    if (at > bytes_.size() || count > bytes_.size() - at) {
      is_short_ = true;
      return 0;
    }
    return LoadNumber(bytes_.subspan(at, count));
  }
  unsigned U8(size_t at) const { return static_cast<unsigned>(Take(at, 1)); }
  unsigned U16(size_t at) const { return static_cast<unsigned>(Take(at, 2)); }
  uint64_t U32(size_t at) const { return Take(at, 4); }

 private:
  ConstByteSpan bytes_;
  mutable bool is_short_ = false;
};

// Walks the markers of a codestream.
class J2kHeaders {
 public:
  explicit J2kHeaders(ConstByteSpan data) : data_(data), in_(data) {}

  model::Result<Jpeg2000Header> Read() {
    constexpr unsigned kStart = 0xff4f, kSize = 0xff51;
    if (in_.U16(0) != kStart || in_.U16(2) != kSize) {
      return model::Corrupt("no JPEG 2000 codestream");
    }
    NDLFS_RETURN_IF_ERROR(ReadSize(4));
    for (size_t at = 2; at + 2 < data_.size();) {
      const unsigned marker = in_.U16(at);
      const size_t length = in_.U16(at + 2);
      if (marker == kTileMarker) {
        NDLFS_RETURN_IF_ERROR(CheckTiles(at));
        return header_;
      }
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

  // SIZ, whose length is at `at`.
  model::Result<void> ReadSize(size_t at) {
    const uint64_t right = in_.U32(at + 4), bottom = in_.U32(at + 8);
    const uint64_t left = in_.U32(at + 12), top = in_.U32(at + 16);
    const uint64_t tile_width = in_.U32(at + 20), tile_height = in_.U32(at + 24);
    const uint64_t components = in_.U16(at + 36);
    const unsigned depth = in_.U8(at + 38);
    if (in_.is_short() || right <= left || bottom <= top || tile_width == 0 ||
        tile_height == 0 || components == 0) {
      return model::Corrupt("a JPEG 2000 picture without a size");
    }
    header_.size = {right - left, bottom - top, components};
    header_.bits = (depth & 0x7f) + 1;
    header_.is_signed = (depth & 0x80) != 0;
    for (uint64_t c = 0; c < components; ++c) {
      const size_t component = at + 38 + 3 * c;
      const bool is_same = in_.U8(component) == depth && in_.U8(component + 1) == 1 &&
                           in_.U8(component + 2) == 1;
      if (in_.is_short()) return model::Corrupt("a JPEG 2000 codestream that is cut");
      if (!is_same) {
        return model::Unsupported("a JPEG 2000 picture of components that differ");
      }
    }
    if (header_.bits >= 32) {
      return model::Unsupported("a JPEG 2000 picture of {} bits", header_.bits);
    }
    const uint64_t tiles = (right / tile_width + 1) * (bottom / tile_height + 1);
    if (tiles <= kMaxTiles) return {};
    return model::Unsupported("a JPEG 2000 picture of {} tiles", tiles);
  }

  // A marker that says how the picture is coded.
  model::Result<void> CheckMarker(unsigned marker, size_t at) {
    constexpr unsigned kCoding = 0xff52, kComponentCoding = 0xff53, kOrderChange = 0xff5f;
    if (marker == kComponentCoding || marker == kOrderChange) {
      return model::Unsupported("a JPEG 2000 picture with marker {:#x}", marker);
    }
    if (marker != kCoding) return {};
    const bool has_precincts = (in_.U8(at + 2) & 1) != 0;
    const uint64_t layers = in_.U16(at + 4), levels = in_.U8(at + 7);
    if (levels > 32) return model::Corrupt("a JPEG 2000 picture of {} levels", levels);
    header_.block_bits =
        std::min(header_.block_bits, (in_.U8(at + 8) & 15) + (in_.U8(at + 9) & 15) + 4);
    // As if each level were the finest one, which has most.
    uint64_t precincts = 0;
    for (uint64_t level = 0; level <= levels; ++level) {
      const unsigned size = has_precincts ? in_.U8(at + 12 + level) : 0xff;
      const uint64_t across = (header_.size.width >> (size & 15)) + 1;
      const uint64_t down = (header_.size.height >> (size >> 4)) + 1;
      precincts = std::max(precincts, CheckedMultiply(across, down).value_or(UINT64_MAX));
    }
    const auto all = CheckedMultiply(precincts, (levels + 1) * header_.size.samples);
    if (all && *all <= kMaxPrecincts && layers * *all <= kMaxPackets) return {};
    return model::Unsupported("a JPEG 2000 picture of {} layers and {} precincts", layers,
                              all.value_or(UINT64_MAX));
  }

  // The tile parts from `at` on, which may have markers of their own.
  model::Result<void> CheckTiles(size_t at) {
    while (at + 12 <= data_.size() && in_.U16(at) == kTileMarker) {
      const uint64_t part = in_.U32(at + 6);
      if (part != 0 && part < 14) return model::Corrupt("a part of a tile of {} bytes", part);
      // A part of 0 goes to the end.
      const size_t end = part == 0 ? data_.size() : std::min<uint64_t>(data_.size(), at + part);
      size_t header = at + 12;
      while (header + 3 <= end && in_.U16(header) != kDataMarker) {
        const size_t length = in_.U16(header + 2);
        if (length < 2) return model::Corrupt("a marker of {} bytes", length);
        NDLFS_RETURN_IF_ERROR(CheckMarker(in_.U16(header), header + 2));
        header += 2 + length;
      }
      if (part == 0) return {};
      at += part;
    }
    return {};
  }

  ConstByteSpan data_;
  J2kBytes in_;
  Jpeg2000Header header_;
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

// The codestream in the boxes of a JP2 file. kUnsupported if a box changes what the samples
// mean: palettes, orders of channels, colours of fewer samples.
model::Result<ConstByteSpan> CodestreamOf(ConstByteSpan file, bool is_header = false) {
  constexpr uint64_t kCodestream = 0x6a703263, kHeader = 0x6a703268, kColours = 0x636f6c72;
  constexpr uint64_t kRefused[] = {0x70636c72, 0x636d6170, 0x63646566};  // pclr, cmap, cdef
  constexpr uint64_t kYCbCr = 18;
  const J2kBytes in(file);
  for (size_t at = 0; at + 8 <= file.size();) {
    const uint64_t length = in.U32(at), type = in.U32(at + 4);
    const bool has_long_size = length == 1;
    const size_t head = has_long_size ? 16 : 8;
    uint64_t size = has_long_size ? in.Take(at + 8, 8) : length;
    if (length == 0) size = file.size() - at;  // goes to the end
    if (in.is_short() || size < head || size > file.size() - at) {
      return model::Corrupt("a box of a JP2 file of {} bytes", size);
    }
    const ConstByteSpan content = file.subspan(at + head, size - head);
    if (type == kCodestream) return content;
    if (type == kHeader && !is_header) {
      NDLFS_TRY(const auto none, CodestreamOf(content, true));
      if (!none.empty()) return model::Corrupt("a codestream in the header of a JP2 file");
    }
    const bool is_ycbcr =
        type == kColours && J2kBytes(content).U8(0) == 1 && J2kBytes(content).U32(3) == kYCbCr;
    if (is_ycbcr || std::ranges::find(kRefused, type) != std::end(kRefused)) {
      return model::Unsupported(
          "a JP2 file with a palette, YCbCr colours or an order of samples");
    }
    at += size;
  }
  if (is_header) return ConstByteSpan();
  return model::Corrupt("a JP2 file without a codestream");
}

// How many rows are decoded at once: few enough for some MiB of memory, and enough for little
// work that is done again for the next ones.
uint64_t J2kRowsAtOnce(const PictureSize& size, uint64_t rows) {
  constexpr uint64_t kNumbers = uint64_t{4} << 20, kMostTimes = 64, kLeastRows = 64;
  const uint64_t row = size.width * size.samples;
  return std::max({kNumbers / row, rows / kMostTimes, kLeastRows});
}

using Jpeg2000Image = std::unique_ptr<opj_image_t, decltype(&opj_image_destroy)>;

// Decodes the rows from `first` to `end`.
model::Result<Jpeg2000Image> DecodeJ2kRows(ConstByteSpan codestream,
                                           const Jpeg2000Header& header, uint64_t first,
                                           uint64_t end) {
  J2kInput input{codestream};
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
  Jpeg2000Image owner(image, opj_image_destroy);
  if (is_good && end - first != header.size.height) {
    const auto at = [&](uint64_t row) { return static_cast<OPJ_INT32>(image->y0 + row); };
    is_good =
        image->x1 <= INT32_MAX && image->y1 <= INT32_MAX &&
        opj_set_decode_area(codec.get(), image, static_cast<OPJ_INT32>(image->x0), at(first),
                            static_cast<OPJ_INT32>(image->x1), at(end)) == OPJ_TRUE;
  }
  is_good = is_good && opj_decode(codec.get(), stream.get(), image) == OPJ_TRUE &&
            opj_end_decompress(codec.get(), stream.get()) == OPJ_TRUE;
  if (!is_good) return model::Corrupt("a JPEG 2000 picture that is invalid or cut");
  bool has_size = image->numcomps == header.size.samples;
  for (size_t c = 0; has_size && c < image->numcomps; ++c) {
    const opj_image_comp_t& component = image->comps[c];
    has_size = component.data != nullptr && component.w == header.size.width &&
               component.h == end - first;
  }
  if (!has_size) return model::Corrupt("a JPEG 2000 picture of another size than its header");
  return owner;
}

template <typename T>
void PutJ2kSamples(const opj_image_t& image, ByteSpan out) {
  const size_t samples = image.numcomps;
  const size_t pixels = uint64_t{image.comps[0].w} * image.comps[0].h;
  for (size_t s = 0; s < samples; ++s) {
    const OPJ_INT32* from = image.comps[s].data;
    for (size_t i = 0; i < pixels; ++i) {
      const auto value = static_cast<T>(from[i]);
      std::memcpy(out.data() + (i * samples + s) * sizeof(T), &value, sizeof(T));
    }
  }
}

}  // namespace

model::Result<Jpeg2000Header> ReadJpeg2000Header(ConstByteSpan codestream) {
  return J2kHeaders(codestream).Read();
}

model::Result<void> DecodeJpeg2000Rows(ConstByteSpan codestream, const Jpeg2000Header& header,
                                       uint64_t rows, const TakeJpeg2000Rows& take) {
  constexpr uint64_t kBytesOfBlock = 1024, kBytesOfNumber = 16;  // of libopenjp2, about
  const uint64_t at_once = J2kRowsAtOnce(header.size, rows);
  const uint64_t row = header.size.width * header.size.samples;
  const uint64_t numbers = CheckedMultiply(row, header.size.height).value_or(UINT64_MAX);
  const auto blocks = CheckedMultiply(numbers >> header.block_bits, kBytesOfBlock);
  const uint64_t beside =
      row * std::min(at_once, rows) * kBytesOfNumber + blocks.value_or(kMaxViewSize);
  NDLFS_RETURN_IF_ERROR(
      model::MemoryBudget::CheckChunk(beside + row * rows * ((header.bits + 7) / 8)));
  const model::MemoryBudget::Held held(beside);
  for (uint64_t first = 0; first < rows; first += at_once) {
    NDLFS_RETURN_IF_ERROR(CancellationScope::CheckWithinChunk());
    NDLFS_TRY(const Jpeg2000Image image,
              DecodeJ2kRows(codestream, header, first, std::min(rows, first + at_once)));
    take(*image, first);
  }
  return {};
}

model::Result<void> DecodeJpeg2000(ConstByteSpan picture, const PictureForm& form,
                                   ByteSpan out) {
  constexpr unsigned kCodestreamMagic = 0xff4f;
  if (J2kBytes(picture).U16(0) != kCodestreamMagic) {
    NDLFS_TRY(picture, CodestreamOf(picture));
  }
  NDLFS_TRY(const Jpeg2000Header header, ReadJpeg2000Header(picture));
  const size_t size = header.bits <= 8 ? 1 : header.bits <= 16 ? 2 : 4;
  NDLFS_RETURN_IF_ERROR(
      CheckPictureType(form, model::Datatype::Integer(size, header.is_signed)));
  NDLFS_TRY(const uint64_t row_bytes, CheckPictureSize(form, header.size, out.size()));
  return DecodeJpeg2000Rows(picture, header, out.size() / row_bytes,
                            [&](const opj_image_t& image, uint64_t first) {
                              const ByteSpan rows = out.subspan(first * row_bytes);
                              if (size == 1) {
                                PutJ2kSamples<uint8_t>(image, rows);
                              } else if (size == 2) {
                                PutJ2kSamples<uint16_t>(image, rows);
                              } else {
                                PutJ2kSamples<uint32_t>(image, rows);
                              }
                            });
}

}  // namespace ndlfs::backends
