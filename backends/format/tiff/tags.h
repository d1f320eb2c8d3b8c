// SPDX-License-Identifier: MIT
//
// The numbers that TIFF 6.0, BigTIFF, GeoTIFF and GDAL give the fields of a directory.
#pragma once

#include <cstdint>

namespace ndlfs::backends::tiff {

// The fields that ndlfs reads or writes.
enum Tag : uint16_t {
  kNewSubfileType = 254,
  kImageWidth = 256,
  kImageLength = 257,
  kBitsPerSample = 258,
  kCompression = 259,
  kPhotometric = 262,
  kFillOrder = 266,
  kImageDescription = 270,
  kStripOffsets = 273,
  kSamplesPerPixel = 277,
  kRowsPerStrip = 278,
  kStripByteCounts = 279,
  kXResolution = 282,
  kYResolution = 283,
  kPlanarConfiguration = 284,
  kResolutionUnit = 296,
  kPredictor = 317,
  kColorMap = 320,
  kTileWidth = 322,
  kTileLength = 323,
  kTileOffsets = 324,
  kTileByteCounts = 325,
  kSubIfds = 330,
  kExtraSamples = 338,
  kSampleFormat = 339,
  kJpegTables = 347,
  kYCbCrSubSampling = 530,
  kImageDepth = 32997,
  kTileDepth = 32998,
  kModelPixelScale = 33550,
  kMetaMorphPlanes = 33629,
  kModelTiepoint = 33922,
  kModelTransformation = 34264,
  kGeoKeyDirectory = 34735,
  kGeoDoubleParams = 34736,
  kGeoAsciiParams = 34737,
  kGdalMetadata = 42112,
  kGdalNoData = 42113,
  kLercParameters = 50674,
};

}  // namespace ndlfs::backends::tiff
