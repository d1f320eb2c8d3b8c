// SPDX-License-Identifier: MIT
//
// Chunks that are pictures: JPEG, JPEG 2000, JPEG XL, LERC, PNG and WebP. Each has headers of
// its own, which are compared with the chunk before a library allocates what they say.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "backends/base/bytes.h"
#include "backends/codec/codec.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::backends {

enum class PictureKind { kJpeg, kJpeg2000, kJpegXl, kLerc, kPng, kWebp };

// How pictures are decoded.
struct PictureRule {
  // Colours of JPEG: as the picture's own markers say; YCbCr that becomes RGB; or the stored
  // numbers.
  enum class Colours { kAsMarked, kFromYCbCr, kAsStored };

  PictureKind kind = PictureKind::kJpeg;
  Colours colours = Colours::kAsMarked;
  // For JPEG: a stream of tables. Pictures may leave these tables out.
  std::string tables;
  // For LERC: pixels without a value become NaN (floats), or get an extra last sample of 0
  // (uint8). If false, pictures with such pixels are refused.
  bool has_masks = false;
  // For LERC: the bands of a picture become samples of its pixels. If false, pictures with more
  // than one band are refused.
  bool has_bands = true;
  // For LERC: the numbers in the picture have their bytes in the other order. libtiff writes
  // such into files of TIFF that are big-endian.
  bool swaps_bytes = false;
  // Of JPEG XL: pixels lie as they are stored. Otherwise they are turned as the picture says.
  bool keeps_orientation = true;
  // Of JPEG XL: which samples pixels have in addition to their colours.
  enum class Extras {
    kAll,
    // As imagecodecs returns them: only the first alpha channel. Grey pictures without one have
    // all others, which lie behind the grey ones, plane by plane. Only for a PictureForm
    // without a width.
    kAsImagecodecs,
  };
  Extras extras = Extras::kAll;
};

// The picture that is expected.
struct PictureForm {
  model::Datatype type;  // of a sample, little-endian
  // nullopt: any, if the picture has exactly as many pixels as are wanted.
  std::optional<uint64_t> width;
  // A picture of that width may have more rows than are wanted, up to these.
  uint64_t most_rows = 0;
  std::optional<uint64_t> samples;  // of a pixel; nullopt: any
};

// How the extents of a chunk become a picture.
enum class PictureLayout {
  kRows,              // (..., y, x): a picture of x columns
  kPixels,            // (..., y, x, sample)
  kVolume,            // (z, y, x): a picture of any width with that many pixels
  kChannelsOfVolume,  // (channel, z, y, x): its samples are the channels
};

// Decodes chunks that are pictures of integers or floats. `most_rows`: as in PictureForm, for
// kRows and kPixels. kUnsupported if the library is not built in.
model::Result<std::shared_ptr<const ArrayToBytesCodec>> MakePictureCodec(
    const PictureRule& rule, PictureLayout layout, uint64_t most_rows);

// Fills `out` with the first samples of a picture, row by row, with the samples of a pixel
// together. kCorrupt if the picture has another size than `form` and `out`. kUnsupported if it
// has another type, or if the library is not built in.
model::Result<void> DecodePicture(const PictureRule& rule, ConstByteSpan picture,
                                  const PictureForm& form, ByteSpan out);

// "JPEG XL".
std::string_view NameOfPicture(PictureKind kind);
bool HasPictures(PictureKind kind);  // whether the library is built in

}  // namespace ndlfs::backends
