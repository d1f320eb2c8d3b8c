// SPDX-License-Identifier: MIT
//
// The places of the elements of an array: the coordinates along its dimensions, for headers of
// other programs. The metadata are known when a file is made, but the values of coordinates
// only when it is read: until then nobody knows whether they are regular.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fs/view/base/number_array.h"
#include "fs/view/base/view_input.h"
#include "fs/view/elements/deferred_bytes.h"
#include "fs/view/place/image_place.h"
#include "fs/view/place/reference_system.h"
#include "model/error.h"

namespace ndlfs::fs {

// The meaning of numbers along an axis, by its metadata.
enum class AxisRole : uint8_t {
  kOther,
  kLongitude,  // degrees east
  kLatitude,   // degrees north
  kEasting,    // of a map, in metres
  kNorthing,
  kGridLongitude,  // degrees of a rotated pole
  kGridLatitude,
  kPlaneX,  // of a plane that nobody has described
  kPlaneY,
  kVertical,
  kTime,
};

// Coordinates first, first + step, first + 2 step ...
struct Steps {
  double first = 0;
  double step = 0;  // not 0; NaN if there is only one coordinate
};

struct Axis {
  std::string name;    // of the dimension; empty if it has none
  uint64_t count = 0;  // elements along it
  AxisRole role = AxisRole::kOther;
  std::string units;     // of the coordinates
  std::string calendar;  // for times
  // The coordinates, which are numbers; null if there are none.
  std::shared_ptr<const NumberArray> coordinates;
  // The path in the store of a data.raw that has the coordinates as numbers; empty if none has.
  std::string raw_path = {};
  std::vector<std::byte> missing = {};  // the element that stands for a missing coordinate
  double scale = 1;                     // coordinate = element * scale + offset
  double offset = 0;
  // The distance between elements, if an attribute of the array tells it.
  std::optional<double> spacing = {};
  // If there are no coordinates: the steps that the metadata of an image tell instead.
  std::optional<Steps> known = {};
  std::string standard_name = {};  // CF's, of the coordinates
  // The names of bands along it, if an attribute of the array has them; else empty.
  std::vector<std::string> names = {};
};

// Maps pixel and line, counted from the outer corner of the first pixel, to coordinates.
struct GeoTransform {
  double x0 = 0;
  double dx = 0;
  double y0 = 0;
  double dy = 0;  // below 0 if the first line is the most northern
  // 0, except for maps that are turned.
  double x_of_line = 0;
  double y_of_pixel = 0;
  bool operator==(const GeoTransform&) const = default;
};

struct Geometry {
  std::vector<Axis> axes;  // for each dimension of NumberArray::shape
  // The system of kLongitude and kLatitude, or of a map.
  ReferenceSystem system;
  // How the last two dimensions lie, if attributes say it instead of coordinates.
  std::optional<GeoTransform> transform;
  std::optional<ImageSpace> image;
  std::string title;  // of the array: its long_name or standard_name
};

// Loads coordinates and `grid_mapping`, but reads no chunk. Fails if the store fails for the
// moment; coordinates that cannot be shown are left out.
model::Result<Geometry> DescribeGeometry(const ArrayInput& input, const NumberArray& numbers);

// The coordinates along `axis`. Empty if it has none, or more than a million, or if one of them
// is missing or not finite. Decodes them.
model::Result<std::vector<double>> ReadCoordinates(const Axis& axis);

// The steps of coordinates that are equally far from each other, up to two thousandths of a
// step and the rounding of their type; nullopt for others. Longitudes go on beyond 360.
std::optional<Steps> FindSteps(const Axis& axis, const std::vector<double>& coordinates);
// The same for the coordinates along `axis`; if it has none, Axis::known.
model::Result<std::optional<Steps>> ReadSteps(const Axis& axis);

// How the pictures of an array lie on the earth.
struct MapPlace {
  Axis x;
  Axis y;
  ReferenceSystem system;
  bool is_geographic = false;             // degrees, else metres
  bool is_earth = false;                  // else a plane that nobody has described
  std::optional<GeoTransform> transform;  // if it is known without coordinates
  bool is_point = false;  // elements are samples at points, as GDAL's AREA_OR_POINT says
};
// nullopt if the metadata already exclude it.
std::optional<MapPlace> FindMapPlace(const Geometry& geometry, const Raster& raster);
// nullopt if the coordinates are not regular. Decodes them.
model::Result<std::optional<GeoTransform>> ReadGeoTransform(const MapPlace& place);

// Numbers in texts of fixed size: as they are, or as wide as any can be.
class NumberText {
 public:
  static NumberText Exact() { return NumberText(false); }
  static NumberText Widest() { return NumberText(true); }
  // The shortest text that reads back as `number`.
  std::string operator()(double number) const;

 private:
  explicit NumberText(bool is_widest) : is_widest_(is_widest) {}
  bool is_widest_;
};

// A header of text whose size does not depend on `Values`. `read` finds the values when the
// header is read. `render` makes the text. The text for `longest`, with the widest numbers,
// must be the longest of all; others are filled up with blank lines at the end.
template <typename Values>
Elements MakeTextHeader(Values longest, std::function<model::Result<Values>()> read,
                        std::function<std::string(const Values&, const NumberText&)> render);

// `text` with blanks and newlines at its end, so that it has `size` bytes, and no added line is
// longer than 80. kInternal if it is longer.
model::Result<std::string> FillUp(std::string text, uint64_t size);

template <typename Values>
Elements MakeTextHeader(Values longest, std::function<model::Result<Values>()> read,
                        std::function<std::string(const Values&, const NumberText&)> render) {
  const uint64_t size = render(longest, NumberText::Widest()).size();
  return MakeDeferredBytes(size, [=]() -> model::Result<std::string> {
    NDLFS_TRY(const Values values, read());
    return FillUp(render(values, NumberText::Exact()), size);
  });
}

// Values for MakeTextHeader(): the steps along each axis, nullopt if there are none.
using AllSteps = std::vector<std::optional<Steps>>;
AllSteps LongestSteps(const Geometry& geometry);
model::Result<AllSteps> ReadAllSteps(const Geometry& geometry);

// The size of an element along an axis, always positive and finite: by its coordinates, an
// attribute of the array, or 1.
double SpacingOf(const Axis& axis, const std::optional<Steps>& steps);
// The coordinate of the first element if coordinates ascend or there is only one, else 0: most
// readers of pictures know no negative spacing.
double OriginOf(const std::optional<Steps>& steps);

}  // namespace ndlfs::fs
