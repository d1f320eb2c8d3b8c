// SPDX-License-Identifier: MIT
#include "fs/view/place/map_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/base/json.h"
#include "fs/view/base/array_part.h"
#include "fs/view/base/attributes.h"
#include "fs/view/place/ome_image.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using model::Result;
using MapAttributes = std::vector<model::Attribute>;

bool IsWordOf(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

bool IsRadian(std::string_view units) {
  return IsWordOf(units, {"rad", "radian", "radians", "microradian", "Rad"});
}

// Which of the two axes of a map a dimension is, by CF's name or by what people call it.
enum class MapSide : uint8_t { kNone, kX, kY };

MapSide SideOf(const Axis& axis) {
  const std::string name = LowerCase(axis.name);
  if (axis.standard_name == "projection_x_coordinate") return MapSide::kX;
  if (axis.standard_name == "projection_y_coordinate") return MapSide::kY;
  if (axis.standard_name == "grid_longitude") return MapSide::kX;
  if (axis.standard_name == "grid_latitude") return MapSide::kY;
  if (!axis.standard_name.empty()) return MapSide::kNone;
  if (name == "x" || name == "easting" || name == "rlon") return MapSide::kX;
  if (name == "y" || name == "northing" || name == "rlat") return MapSide::kY;
  return MapSide::kNone;
}

bool IsGeographicAxis(const Axis& axis) {
  return axis.role == AxisRole::kLongitude || axis.role == AxisRole::kLatitude;
}

bool MayBeOnMap(const Axis& axis) {
  const bool has_role = axis.role == AxisRole::kEasting || axis.role == AxisRole::kNorthing ||
                        IsGeographicAxis(axis);
  const bool is_open = axis.units.empty() || axis.units == "1" || IsRadian(axis.units) ||
                       axis.units.starts_with("deg");
  return has_role ||
         (axis.role == AxisRole::kOther && is_open && SideOf(axis) != MapSide::kNone);
}

// The role of an axis whose own attributes do not suffice to tell: that of numbers without a
// unit, of angles that a satellite sees, and of degrees of another pole.
AxisRole RoleInSystem(const Axis& axis, const ReferenceSystem& system) {
  using Kind = ReferenceSystem::Kind;
  const MapSide side = SideOf(axis);
  if (axis.role != AxisRole::kOther || side == MapSide::kNone) return axis.role;
  const auto choose = [&](AxisRole x, AxisRole y) { return side == MapSide::kX ? x : y; };
  if (system.kind == Kind::kRotated) {
    return choose(AxisRole::kGridLongitude, AxisRole::kGridLatitude);
  }
  const bool is_seen = system.metres_of_radian && IsRadian(axis.units);
  if (!axis.units.empty() && axis.units != "1" && !is_seen) return axis.role;
  if (system.kind == Kind::kGeographic) {
    return choose(AxisRole::kLongitude, AxisRole::kLatitude);
  }
  if (system.kind == Kind::kProjected) return choose(AxisRole::kEasting, AxisRole::kNorthing);
  const std::string name = LowerCase(axis.name);
  const bool is_plain = name == "x" || name == "y";
  return is_plain && axis.units.empty() ? choose(AxisRole::kPlaneX, AxisRole::kPlaneY)
                                        : axis.role;
}

void UseMetresOfRadian(const ReferenceSystem& system, Axis& axis) {
  if (!system.metres_of_radian || !IsRadian(axis.units)) return;
  const double metres = *system.metres_of_radian * (axis.units == "microradian" ? 1e-6 : 1);
  axis.scale *= metres;
  axis.offset *= metres;
  axis.units = "m";
}

// Degrees without a word about their system are those of WGS 84. A system of degrees says
// nothing about metres, and the other way round.
void FitSystem(const std::vector<Axis>& axes, ReferenceSystem& system) {
  using Kind = ReferenceSystem::Kind;
  constexpr int kWgs84 = 4326;
  const auto any = [&](AxisRole role) {
    return std::ranges::find(axes, role, &Axis::role) != axes.end();
  };
  const bool is_geographic = any(AxisRole::kLongitude) || any(AxisRole::kLatitude);
  const bool is_map = any(AxisRole::kEasting) || any(AxisRole::kNorthing);
  if (is_geographic && is_map) system = {};
  if (is_map && system.kind != Kind::kProjected) system = {};
  if (!is_geographic || is_map) return;
  if (system.kind != Kind::kGeographic) {
    system = {};
    system.kind = Kind::kGeographic;
  }
  if (!system.epsg && system.text.empty()) system.epsg = kWgs84;
}

// Six numbers as GeoZarr and rasterio have them: x = a * pixel + b * line + c, then y.
std::optional<GeoTransform> AffineOf(const std::vector<double>& n) {
  if (n.size() != 6 && n.size() != 9) return std::nullopt;
  for (size_t i = 0; i < 6; ++i) {
    if (!std::isfinite(n[i])) return std::nullopt;
  }
  if (n[0] * n[4] - n[1] * n[3] == 0) return std::nullopt;
  return GeoTransform{n[2], n[0], n[5], n[4], n[1], n[3]};
}

// Those in the order of GDAL's.
std::optional<GeoTransform> AffineOfGdal(const std::vector<double>& n) {
  return n.size() == 6 ? AffineOf({n[1], n[2], n[0], n[4], n[5], n[3]}) : std::nullopt;
}

// `text` of an attribute as JSON; null for all else.
backends::Json JsonOf(const MapAttributes& attributes, std::string_view name) {
  const std::string text = TextOf(attributes, name);
  auto json = text.empty() ? model::Result<backends::Json>(backends::Json())
                           : backends::ParseJson(text);
  return json ? *std::move(json) : backends::Json();
}

std::vector<double> NumbersOfJsonList(const backends::Json& json) {
  std::vector<double> numbers;
  if (!json.is_array()) return numbers;
  for (const auto& number : json) {
    if (!number.is_number()) return {};
    numbers.push_back(number.get<double>());
  }
  return numbers;
}

// GeoZarr's `spatial:transform` is of the corner of the first pixel, unless it is of nodes.
std::optional<GeoTransform> SpatialTransform(const std::vector<double>& numbers,
                                             const MapAttributes& attributes) {
  auto transform = AffineOf(numbers);
  if (!transform || TextOf(attributes, "spatial:registration") != "node") return transform;
  transform->x0 -= (transform->dx + transform->x_of_line) / 2;
  transform->y0 -= (transform->dy + transform->y_of_pixel) / 2;
  return transform;
}

// Whether GeoZarr's attributes are about the dimensions `y` and `x` of an array.
bool IsAbout(const MapAttributes& attributes, const ArrayInput& array, const Raster& raster) {
  const auto* names = FindAttribute(attributes, "spatial:dimensions");
  const auto* list = names == nullptr ? nullptr : names->value.list();
  if (list != nullptr && list->size() == 2) {
    const std::string* y = list->front().text();
    const std::string* x = list->back().text();
    const std::string own_y = DimensionName(array, *raster.y_axis);
    const std::string own_x = DimensionName(array, raster.x_axis);
    if (!own_y.empty() && y != nullptr && *y != own_y) return false;
    if (!own_x.empty() && x != nullptr && *x != own_x) return false;
  }
  const auto shape = NumbersOf(attributes, "spatial:shape");
  return shape.size() != 2 || (shape[0] == static_cast<double>(raster.height) &&
                               shape[1] == static_cast<double>(raster.width));
}

// The level of GeoZarr's multiscales that an array is, by its path below the group, or that a
// group around it is; null if it is none.
const backends::Json& FindGeoLevel(const backends::Json& multiscales, std::string_view path) {
  for (const auto& level : OmeMember(multiscales, "layout")) {
    const std::string asset = OmeText(OmeMember(level, "asset"));
    const bool is_level = !asset.empty() && path.starts_with(asset) &&
                          (path.size() == asset.size() || path[asset.size()] == '/');
    if (is_level) return level;
  }
  return OmeMember(backends::Json(), "");
}

std::optional<GeoTransform> FindSpatialTransform(const ArrayInput& whole,
                                                 const Raster& raster) {
  const MapAttributes& own = whole.node->attributes();
  const auto own_numbers = NumbersOf(own, "spatial:transform");
  if (!own_numbers.empty()) {
    return IsAbout(own, whole, raster) ? SpatialTransform(own_numbers, own) : std::nullopt;
  }
  std::string below = whole.node->array().name;
  constexpr int kMostGroups = 4;
  auto group = whole.group;
  for (int i = 0; group != nullptr && i < kMostGroups; ++i) {
    const MapAttributes& attributes = group->node().attributes();
    const backends::Json multiscales = JsonOf(attributes, "multiscales");
    const backends::Json& level = FindGeoLevel(multiscales, below);
    const auto of_level = NumbersOfJsonList(OmeMember(level, "spatial:transform"));
    if (!of_level.empty()) return SpatialTransform(of_level, attributes);
    // The transform of the group is that of its first level. `transform` of a level that is
    // made of another one does not say whether it is about corners or centres of pixels.
    if (!OmeMember(level, "derived_from").is_null()) return std::nullopt;
    const auto numbers = NumbersOf(attributes, "spatial:transform");
    if (!numbers.empty()) {
      return IsAbout(attributes, whole, raster) ? SpatialTransform(numbers, attributes)
                                                : std::nullopt;
    }
    below = std::string(model::BaseName(group->path())) + '/' + below;
    group = group->Outer();
  }
  return std::nullopt;
}

// Whether the raster of `shown` has the axes of `raster`, that of the whole array.
bool ShowsAxes(const ArrayInput& shown, const Raster& raster) {
  if (!shown.part) return true;
  const auto numbers = AsNumbers(shown);
  const auto own = numbers ? AsRaster(shown, *numbers) : std::nullopt;
  const size_t rank = shown.part->selection.size();
  return own && raster.x_axis < rank && *raster.y_axis < rank &&
         own->y_axis == AxisInPart(shown, *raster.y_axis).dimension &&
         own->x_axis == AxisInPart(shown, raster.x_axis).dimension;
}

constexpr GeoTransform kSamePixels{.dx = 1, .dy = 1};

// A part begins at another pixel, and may skip some.
std::optional<GeoTransform> PixelsIn(const ArrayInput& shown, const Raster& raster) {
  if (!shown.part) return kSamePixels;
  const ImageAxis x = AxisInPart(shown, raster.x_axis);
  const ImageAxis y = AxisInPart(shown, *raster.y_axis);
  if (!x.dimension || !y.dimension) return std::nullopt;
  // The corner of the first pixel that is shown, on the side where the rows begin.
  const auto begin = [](const ImageAxis& axis) { return axis.first + 0.5 - axis.step / 2; };
  return GeoTransform{begin(x), x.step, begin(y), y.step};
}

GeoTransform Moved(GeoTransform t, const GeoTransform& pixels) {
  t.x0 += pixels.x0 * t.dx + pixels.y0 * t.x_of_line;
  t.y0 += pixels.x0 * t.y_of_pixel + pixels.y0 * t.dy;
  t.dx *= pixels.dx;
  t.y_of_pixel *= pixels.dx;
  t.dy *= pixels.dy;
  t.x_of_line *= pixels.dy;
  return t;
}

std::optional<Raster> RasterOf(const ArrayInput& whole) {
  const auto numbers = AsNumbers(whole);
  auto raster = numbers ? AsRaster(whole, *numbers) : std::nullopt;
  return raster && raster->y_axis ? raster : std::nullopt;
}

// The transform that attributes have: those of the array and the groups, or of its system.
std::optional<GeoTransform> FindTransform(const ArrayInput& shown, const Geometry& geometry) {
  const ArrayInput& whole = shown.part ? shown.part->whole : shown;
  const auto raster = RasterOf(whole);
  if (!raster) return std::nullopt;
  const MapAttributes& own = whole.node->attributes();
  const bool has_own = FindAttribute(own, "spatial:transform") != nullptr;
  const bool has_coordinates = std::ranges::any_of(
      geometry.axes, [](const Axis& axis) { return axis.coordinates && MayBeOnMap(axis); });
  if (has_coordinates && !has_own) return std::nullopt;
  auto transform = FindSpatialTransform(whole, *raster);
  if (!transform && FindAttribute(own, "crs") != nullptr) {
    transform = AffineOf(NumbersOf(own, "transform"));
  }
  if (!transform) transform = AffineOfGdal(geometry.system.transform);
  if (!transform || !ShowsAxes(shown, *raster)) return std::nullopt;
  const auto pixels = PixelsIn(shown, *raster);
  return pixels ? std::optional(Moved(*transform, *pixels)) : std::nullopt;
}

// Names that a map may be found by although it has no coordinates.
bool MayHaveTransform(const ArrayInput& input, const Geometry& geometry) {
  if (geometry.axes.size() < 2) return false;
  const ArrayInput& whole = input.part ? input.part->whole : input;
  const MapAttributes& own = whole.node->attributes();
  for (const std::string_view name : {"spatial:transform", "transform", "grid_mapping"}) {
    if (FindAttribute(own, name) != nullptr) return true;
  }
  for (auto group = whole.group; group != nullptr; group = group->Outer()) {
    const MapAttributes& attributes = group->node().attributes();
    for (const std::string_view name : {"spatial:transform", "proj:code", "proj:wkt2"}) {
      if (FindAttribute(attributes, name) != nullptr) return true;
    }
  }
  return false;
}

}  // namespace

std::optional<GeoTransform> PixelsOfPart(const ArrayInput& part) {
  if (!part.part) return kSamePixels;
  const auto raster = RasterOf(part.part->whole);
  return raster && ShowsAxes(part, *raster) ? PixelsIn(part, *raster) : std::nullopt;
}

bool IsPlaceOf(const MapAttributes& of_group, const ArrayInput& array) {
  const ArrayInput& whole = array.part ? array.part->whole : array;
  const auto raster = RasterOf(whole);
  return raster && IsAbout(of_group, whole, *raster);
}

void MoveTransforms(const std::optional<GeoTransform>& pixels, MapAttributes& attributes) {
  if (pixels == kSamePixels) return;
  const auto affine = AffineOf(NumbersOf(attributes, "spatial:transform"));
  const bool is_of_nodes = TextOf(attributes, "spatial:registration") == "node";
  const auto other = AffineOf(NumbersOf(attributes, "transform"));
  const auto gdal = AffineOfGdal(ReadReferenceSystem(attributes).transform);
  std::erase_if(attributes, [&](const model::Attribute& attribute) {
    const std::string_view name = attribute.name;
    return name == "spatial:transform" || name == "spatial:bbox" || name == "spatial:shape" ||
           name == "GeoTransform" || (name == "transform" && other);
  });
  if (!pixels) return;
  const auto add = [&](std::string name, const GeoTransform& t) {
    model::Value::List numbers;
    for (const double number : {t.dx, t.x_of_line, t.x0, t.y_of_pixel, t.dy, t.y0}) {
      numbers.emplace_back(number);
    }
    attributes.push_back({std::move(name),
                          model::Datatype::Float64(),
                          {numbers.size()},
                          model::Value(std::move(numbers)),
                          {}});
  };
  if (affine) {
    GeoTransform own = *pixels;
    if (is_of_nodes) {
      own.x0 += (own.dx - 1) / 2;
      own.y0 += (own.dy - 1) / 2;
    }
    add("spatial:transform", Moved(*affine, own));
  }
  if (other) add("transform", Moved(*other, *pixels));
  if (!gdal) return;
  const GeoTransform t = Moved(*gdal, *pixels);
  attributes.push_back(model::MakeTextAttribute(
      "GeoTransform",
      fmt::format("{} {} {} {} {} {}", t.x0, t.dx, t.x_of_line, t.y0, t.y_of_pixel, t.dy)));
}

Result<void> AddMap(const ArrayInput& input, Geometry& geometry) {
  const bool may_be_map = std::ranges::any_of(geometry.axes, MayBeOnMap);
  if (!may_be_map && !MayHaveTransform(input, geometry)) return {};
  NDLFS_TRY(geometry.system, FindReferenceSystem(input));
  geometry.transform = FindTransform(input, geometry);
  for (Axis& axis : geometry.axes) {
    if (!axis.coordinates) continue;
    axis.role = RoleInSystem(axis, geometry.system);
    UseMetresOfRadian(geometry.system, axis);
  }
  FitSystem(geometry.axes, geometry.system);
  return {};
}

}  // namespace ndlfs::fs
