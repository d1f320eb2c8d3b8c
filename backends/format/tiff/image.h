// SPDX-License-Identifier: MIT
//
// What a directory says about its image: the shape, the type and the place of the samples.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/format/tiff/directory.h"
#include "backends/format/tiff/place.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::backends::tiff {

// Compressions that have names here (TIFF 6.0, and those that came later).
enum Compression : uint16_t {
  kNone = 1,
  kLzw = 5,
  kJpeg = 7,
  kAdobeDeflate = 8,
  kPackBits = 32773,
  kDeflate = 32946,
  // JPEG 2000 of Aperio's microscopes: YCbCr, of any colours, RGB.
  kAperioYCbCr = 33003,
  kAperio = 33004,
  kAperioRgb = 33005,
  kJpeg2000 = 34712,
  kLerc = 34887,
  kLzma = 34925,
  kZstd = 50000,
  kWebp = 50001,
  kJpegXl = 50002,
  kJpegXlOfDng = 52546,
};

// Pages whose forms are equal are stored in the same way, and can be one array.
struct ImageForm {
  uint64_t width = 0;
  uint64_t length = 0;
  uint64_t depth = 1;
  uint64_t samples = 1;    // of a pixel
  bool is_planar = false;  // each sample has strips or tiles of its own
  unsigned bits = 1;       // of a sample
  unsigned format = 1;     // of a sample: SampleFormat
  bool is_tiled = false;
  uint64_t chunk_width = 0;  // of a strip or tile, in pixels
  uint64_t chunk_length = 0;
  uint64_t chunk_depth = 1;
  uint64_t compression = kNone;
  uint64_t predictor = 1;
  uint64_t photometric = 1;
  bool reverses_bits = false;  // FillOrder 2
  std::array<uint64_t, 2> subsampling = {2, 2};
  std::string jpeg_tables;        // JPEGTables: what all strips or tiles share
  uint64_t lerc_compression = 0;  // around LERC: 0 none, 1 deflate, 2 Zstandard
  std::string no_data;            // GDAL_NODATA
  std::string metadata;           // GDAL_METADATA: XML
  std::optional<Place> place;

  bool operator==(const ImageForm&) const = default;
  // Whether the samples of a pixel follow each other.
  bool is_interleaved() const { return samples > 1 && !is_planar; }
  // Whether colours are stored as YCbCr, and become RGB when they are decoded.
  bool becomes_rgb() const {
    constexpr uint64_t kYCbCr = 6;
    return compression == kJpeg && photometric == kYCbCr && samples == 3 && is_interleaved();
  }
};

// A list of integers in the file.
struct ValueList {
  uint64_t position = 0;
  uint64_t count = 0;
  size_t size = 0;     // bytes of each
  uint64_t first = 0;  // the only one, if count is 1
};

// Where the strips or tiles of one directory are.
struct PageChunks {
  ValueList offsets;
  ValueList byte_counts;
  // There is no such page: all its samples are absent.
  bool is_absent = false;
  // Not 0: the page is in another file of the set (PageStack::others, counted from 1), and the
  // directory of this number there says where its strips or tiles are.
  uint32_t file = 0;
  uint64_t directory = 0;
};

struct Page {
  ImageForm form;
  PageChunks chunks;
  bool is_reduced = false;  // an overview of the page before it
  bool is_mask = false;
  // Why the samples cannot be read, although the form is known.
  std::optional<model::Error> error;
  std::vector<std::string> notes;  // what is odd about it
};

// Fails if the directory does not say which samples the image has.
model::Result<Page> ReadPage(TiffReader& reader, const Directory& directory);

// The type of an element: samples of less than a byte, and of 9 to 15 or 17 to 31 bits, become
// the next larger integer. kUnsupported for samples that no type has.
model::Result<model::Datatype> TypeOf(const ImageForm& form);

// "LZW", "JPEG", or "number 12345".
std::string NameOfCompression(uint64_t compression);
// "RGB", or "number 12345": what the decoded samples are.
std::string PhotometricOf(const ImageForm& form);

}  // namespace ndlfs::backends::tiff
