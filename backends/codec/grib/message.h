// SPDX-License-Identifier: MIT
//
// The headers of GRIB messages (WMO Manual on Codes, FM 92 GRIB edition 1 and edition 2). Both
// editions become the same structures; numbers are those of the tables of the edition. Nothing
// here reads packed values: field_codec.h decodes them.
//
// "Octet" counts from 1 as in the Manual. Positions in code count from 0.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "backends/base/bytes.h"
#include "model/error.h"

namespace ndlfs::backends {

// The bytes of a section from its first octet on, its length included. Fields share them.
using GribSection = std::shared_ptr<const std::vector<std::byte>>;

// A part of a message, in bytes from the beginning of the message ("GRIB").
struct GribRange {
  uint64_t offset = 0;
  uint64_t size = 0;
};

struct GribTime {
  uint16_t year = 0;
  uint8_t month = 0, day = 0, hour = 0, minute = 0, second = 0;
};

enum class GribGridKind : uint8_t {
  kLatLon,              // 3.0; type 0 of edition 1
  kRotatedLatLon,       // 3.1; type 10
  kMercator,            // 3.10; type 1
  kTransverseMercator,  // 3.12
  kPolarStereographic,  // 3.20; type 5
  kLambert,             // 3.30; types 3 and 13
  kAlbers,              // 3.31
  kGaussian,            // 3.40; type 4
  kRotatedGaussian,     // 3.41; type 14
  kSpaceView,           // 3.90
  kUnstructured,        // 3.101
  kLambertAzimuthal,    // 3.140
  kHealpix,             // 3.150
  kOther,               // only `points`, `template_number` and `section` are known
};

// Section 3 of edition 2, or 2 of edition 1. Immutable once read.
struct GribGrid {
  GribGridKind kind = GribGridKind::kOther;
  uint8_t edition = 2;
  // N of template 3.N; of edition 1, the data representation type (table 6).
  uint16_t template_number = 0;
  GribSection section;
  uint64_t points = 0;

  // Columns and rows. Both are 0 if the grid has no rows, they are not known (unstructured,
  // kOther), or they contradict the number of points (then the kind is kOther). A reduced grid
  // has nj rows of different lengths: ni is 0, and `row_points` has the number of points in
  // each row, within the longitudes of the grid. In any other grid, ni * nj == points.
  uint64_t ni = 0, nj = 0;
  std::vector<uint32_t> row_points;
  bool is_reduced() const { return !row_points.empty(); }
  // The number of points that each row would have around the whole earth, if the section tells
  // it, and the grid is only a part of the globe.
  std::vector<uint32_t> circle_points;

  // Flag table 3.4, or 8 of edition 1, whose last four bits are 0 here.
  uint8_t scan_mode = 0;
  bool i_negative() const { return (scan_mode & 0x80) != 0; }
  bool j_positive() const { return (scan_mode & 0x40) != 0; }
  bool j_consecutive() const { return (scan_mode & 0x20) != 0; }  // column after column
  bool alternates() const { return (scan_mode & 0x10) != 0; }     // boustrophedonic
  // Bits that shift points or rows by half a step.
  bool has_offset_points() const { return (scan_mode & 0x0f) != 0; }

  // Degrees. The first point, and for kLatLon, kGaussian (also rotated) and kMercator the last.
  double first_latitude = 0, first_longitude = 0;
  double last_latitude = 0, last_longitude = 0;
  // Degrees for kLatLon and kGaussian, also rotated; metres for projections; radians for
  // kSpaceView. nullopt if the message says that they are not given.
  std::optional<double> di, dj;
  uint32_t parallels = 0;  // Gaussian: between a pole and the equator
  // Resolution and component flags (table 3.3, or 7 of edition 1): 0x08 says that vector
  // components are along the grid.
  uint8_t component_flags = 0;

  // Degrees. Which of these count depends on the kind.
  double south_pole_latitude = -90, south_pole_longitude = 0, rotation = 0;
  double standard_latitude = 0;      // LaD: where di and dj are true
  double orientation_longitude = 0;  // LoV, central longitude, or reference longitude
  double latin1 = 0, latin2 = 0;     // where the cone cuts the sphere
  bool is_south_pole_projected = false;
  // Transverse Mercator: the scale at the reference latitude (`standard_latitude`), the false
  // origin, and the first and last point, in metres. kSpaceView: the first point, in radians
  // east and north of the line to the point below the satellite.
  double scale = 1, false_x = 0, false_y = 0, x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  // kSpaceView: from the centre of the earth, in units of the major axis; 0 for orthographic
  // views. The point below the satellite is at standard_latitude and orientation_longitude.
  double satellite_distance = 0;
  // kHealpix: the points along a side of the twelve rhomboids, and whether they come rhomboid
  // by rhomboid (nested) or in rings from north to south. `nside` is 0 if they come in another
  // order.
  uint32_t nside = 0;
  bool is_nested = false;

  // The shape of the earth (code table 3.2), and the axes in metres that follow from it; a
  // sphere has equal axes. Edition 1 has two shapes, which get the numbers of this table: 0 for
  // its sphere of 6367470 m, and 2 for IAU 1965.
  uint8_t earth_shape = 0;
  double major_axis = 6367470, minor_axis = 6367470;
};

enum class GribMethod : uint8_t {
  kSimple,               // 5.0
  kComplex,              // 5.2
  kSpatialDifferencing,  // 5.3
  kIeee,                 // 5.4
  kJpeg2000,             // 5.40, 5.40000
  kPng,                  // 5.41, 5.40010
  kCcsds,                // 5.42
  kLogarithm,            // 5.61
  kRunLength,            // 5.200
  kSecondOrder,          // of edition 1; 5.50001 and 5.50002
  kOther,                // cannot be decoded
};

// Section 5 of edition 2; the head of section 4 of edition 1.
struct GribPacking {
  GribMethod method = GribMethod::kOther;
  // N of template 5.N; of edition 1, the four flags of octet 4 in the low bits.
  uint16_t template_number = 0;
  GribSection section;  // of edition 1 the first octets of section 4, at most 64
  uint64_t values = 0;  // how many are packed; of edition 1, 0 if that is not said
  float reference = 0;
  int32_t binary_scale = 0;
  int32_t decimal_scale = 0;
  uint8_t bits = 0;
};

// One field: what a reader calls a message. Several of them share a message of edition 2 whose
// sections repeat.
struct GribField {
  // Null for a grid of edition 1 that is only numbered (no section 2).
  std::shared_ptr<const GribGrid> grid;
  uint64_t points = 0;  // values after decoding, missing ones included

  // Section 4 of edition 2; section 1 of edition 1.
  GribSection product;
  // N of template 4.N; 0 for edition 1.
  uint16_t product_template = 0;
  // Parameter category and number; for edition 1, 0 and the indicator of parameter (octet 9).
  uint8_t category = 0, number = 0;
  // Section 2 of edition 2, null if there is none. Edition 1 has such octets at the end of
  // `product`.
  GribSection local;

  std::shared_ptr<const GribPacking> packing;
  // The bits of the bitmap alone, without the head of its section. The one of an earlier field
  // if the field says so (254). nullopt if all points are there.
  std::optional<GribRange> bitmap;
  uint8_t bitmap_indicator = 255;
  // Section 7 of edition 2, without its head of 5 octets; section 4 of edition 1 from its first
  // octet on.
  GribRange data;
};

struct GribMessage {
  uint64_t offset = 0;  // in the file
  uint64_t size = 0;    // from "GRIB" to "7777"
  uint8_t edition = 2;
  uint8_t discipline = 0;  // 0 for edition 1
  uint16_t centre = 0, subcentre = 0;
  // Edition 2: master and local tables. Edition 1: the parameter table (octet 4) twice.
  uint8_t tables_version = 0, local_tables_version = 0;
  GribTime reference_time;
  // Tables 1.2 to 1.4; 0 for edition 1.
  uint8_t time_significance = 0, production_status = 0, data_type = 0;
  // Never empty.
  std::vector<GribField> fields;
};

// Reads headers of GRIB messages in a file or another sequence of bytes. Keeps the last few
// hundred bytes that it read, so messages in sequence take about one read each. Not
// thread-safe.
class GribReader {
 public:
  // Fills `out` with the bytes from `offset` on; they lie within the size of the file.
  using Read = std::function<model::Result<void>(uint64_t offset, ByteSpan out)>;

  // `window` is how many bytes a read has at least, as far as the file has them. The headers of
  // most messages have 200 to 400 bytes.
  GribReader(Read read, uint64_t file_size, uint64_t window = 512);

  // Returns where the next message begins, at `from` or later; nullopt if there is none. What
  // lies between messages may be anything. A message begins with "GRIB", and its eighth byte is
  // 1 or 2; whether it is one, Parse() tells. Looks at `limit` bytes at most, and fails with
  // kLimit if it finds nothing there and the file goes on.
  model::Result<std::optional<uint64_t>> Find(uint64_t from,
                                              uint64_t limit = uint64_t{1} << 30);

  // Reads the headers of the message at `offset`. Section 7, bitmaps and other sections that it
  // does not know are not read. Checks that all sections lie within the message, that those are
  // there that must be, and that "7777" is at its end. Fails with kCorrupt, kUnsupported (of an
  // edition) or kLimit (sections and numbers of fields that nobody writes). A field whose
  // template is not known is no failure: see GribMethod::kOther and GribGridKind::kOther.
  // Without `reads_end`, "7777" is not looked at, which would be another read.
  model::Result<GribMessage> Parse(uint64_t offset, bool reads_end = true);

 private:
  friend class GribSectionWalk;
  // `size` bytes from `offset` on; valid until the next call.
  model::Result<ConstByteSpan> Peek(uint64_t offset, uint64_t size);

  Read read_;
  uint64_t file_size_;
  uint64_t window_size_;
  uint64_t window_offset_ = 0;
  std::vector<std::byte> window_;
};

// The headers of a message that is all in memory, as a chunk of it is. Bytes behind it are
// ignored. Fails as GribReader::Parse does.
model::Result<GribMessage> ParseGribMessage(ConstByteSpan message);

}  // namespace ndlfs::backends
