// SPDX-License-Identifier: MIT
#include "fs/view/place/geometry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include "backends/base/bytes.h"
#include "backends/format/packing.h"
#include "fs/view/base/array_part.h"
#include "fs/view/base/attributes.h"
#include "fs/view/base/dimension_names.h"
#include "fs/view/base/unpacked.h"
#include "fs/view/place/map_axes.h"
#include "fs/view/place/ome_image.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using model::Result;
using Attributes = std::vector<model::Attribute>;

constexpr uint64_t kMostCoordinates = uint64_t{1} << 20;
// Coordinates may be off by this part of a step: they are rounded for people. Those of Gaussian
// grids are off by more.
constexpr double kTolerance = 2e-3;
// And where a type is too coarse for them by this, at most.
constexpr double kMostRounding = 1e-2;

template <size_t n>
bool IsOneOf(std::string_view word, const std::array<std::string_view, n>& words) {
  return std::ranges::find(words, word) != words.end();
}

bool IsMetre(std::string_view units) {
  return IsOneOf<5>(units, {"m", "metre", "metres", "meter", "meters"});
}
bool IsKilometre(std::string_view units) {
  return IsOneOf<5>(units, {"km", "kilometre", "kilometres", "kilometer", "kilometers"});
}
bool IsPressure(std::string_view units) {
  return IsOneOf<6>(units, {"Pa", "hPa", "mb", "mbar", "millibar", "millibars"});
}

// CF: by the units, else by a standard name. Degrees that are of another pole have a standard
// name of their own.
AxisRole RoleByCf(const Attributes& attributes, const std::string& units) {
  const std::string standard_name = TextOf(attributes, "standard_name");
  const bool is_length = IsMetre(units) || IsKilometre(units);
  if (standard_name == "projection_x_coordinate")
    return is_length ? AxisRole::kEasting : AxisRole::kOther;
  if (standard_name == "projection_y_coordinate")
    return is_length ? AxisRole::kNorthing : AxisRole::kOther;
  if (standard_name == "longitude") return AxisRole::kLongitude;
  if (standard_name == "latitude") return AxisRole::kLatitude;
  if (standard_name.empty() && IsDegreesEast(units)) return AxisRole::kLongitude;
  if (standard_name.empty() && IsDegreesNorth(units)) return AxisRole::kLatitude;
  if (units.find(" since ") != std::string::npos) return AxisRole::kTime;
  const std::string axis = TextOf(attributes, "axis");
  if (axis == "Z" || IsPressure(units) || !TextOf(attributes, "positive").empty())
    return AxisRole::kVertical;
  return AxisRole::kOther;
}

// By what people call them, where no attribute says anything else.
AxisRole RoleByName(const Attributes& attributes, std::string_view name,
                    const std::string& units) {
  if (!TextOf(attributes, "standard_name").empty()) return AxisRole::kOther;
  const std::string lower = LowerCase(std::string(name));
  if (units.empty() || units == "degrees" || units == "degree" || units == "deg") {
    if (lower == "lon" || lower == "longitude") return AxisRole::kLongitude;
    if (lower == "lat" || lower == "latitude") return AxisRole::kLatitude;
  }
  if (IsMetre(units) || IsKilometre(units)) {
    if (lower == "x") return AxisRole::kEasting;
    if (lower == "y") return AxisRole::kNorthing;
  }
  return AxisRole::kOther;
}

// "hours since 1970-01-01" of a type that counts time; empty for others, and for differences.
std::string UnitsOfDates(const model::Datatype& type) {
  if (type.kind() != model::Datatype::Kind::kInteger || !type.time()) return {};
  return type.time()->is_delta ? std::string() : CfTimeUnits(*type.time());
}

std::vector<std::byte> MissingElement(const backends::Node& node, const model::Datatype& type) {
  const auto missing = backends::MissingValueOf(node);
  std::vector<std::byte> element(type.size());
  if (type.kind() == model::Datatype::Kind::kInteger && type.time()) {
    const int64_t nat = std::numeric_limits<int64_t>::min();
    std::memcpy(element.data(), &nat, std::min(sizeof nat, element.size()));
    return element;
  }
  if (!missing || !model::EncodeElement(type, *missing, element)) return {};
  return element;
}

// Of a part of coordinates, the data.raw of that part.
std::string RawPathOf(const ArrayInput& coordinates) {
  std::string path = PathOf(coordinates) + "/data";
  if (const auto& part = coordinates.part) {
    path += fmt::format("[{}]", FormatSelection(part->selection, part->whole.shape));
  }
  return path + ".raw";
}

void AddCoordinates(const ArrayInput& stored, Axis& axis) {
  const ArrayInput coordinates = AsCfNumbers(stored);
  const auto numbers = AsNumbers(coordinates);
  if (!numbers || numbers->shape != std::vector{axis.count}) return;
  if (IsComplex(numbers->number) || numbers->number == Number::kFloat16) return;
  const Attributes& attributes = coordinates.node->attributes();
  axis.coordinates = std::make_shared<const NumberArray>(*numbers);
  axis.units = TextOf(attributes, "units");
  if (axis.units.empty()) axis.units = UnitsOfDates(coordinates.dtype);
  axis.calendar = LowerCase(TextOf(attributes, "calendar"));
  axis.standard_name = TextOf(attributes, "standard_name");
  axis.role = RoleByCf(attributes, axis.units);
  if (axis.role == AxisRole::kOther) axis.role = RoleByName(attributes, axis.name, axis.units);
  axis.missing = MissingElement(*coordinates.node, coordinates.dtype);
  const auto packing = backends::ReadPacking(*coordinates.node);
  if (packing && !packing->is_scaled() && coordinates.elements == stored.elements) {
    axis.raw_path = RawPathOf(stored);
  }
  axis.scale = packing ? packing->factor() : 1;
  axis.offset = packing ? packing->shift() : 0;
}

// Maps are in metres.
void UseMetres(Axis& axis) {
  if (!IsKilometre(axis.units)) return;
  axis.scale *= 1000;
  axis.offset *= 1000;
  axis.units = "m";
}

// Attributes with one distance for each dimension, in their order; that of HDF5 files of
// microscopes has three, in micrometres. nullopt for dimensions without one.
std::vector<std::optional<double>> FindSpacing(const Attributes& attributes, size_t own_rank) {
  std::vector<std::optional<double>> of_dimensions(own_rank);
  std::vector<double> spacing = NumbersOf(attributes, "spacing");
  if (spacing.size() != own_rank) spacing.clear();
  if (spacing.empty()) spacing = NumbersOf(attributes, "element_size_um");
  if (spacing.empty() || spacing.size() > own_rank) return of_dimensions;
  for (size_t i = 0; i < spacing.size(); ++i) {
    const bool is_distance = std::isfinite(spacing[i]) && spacing[i] > 0;
    if (is_distance) of_dimensions[own_rank - spacing.size() + i] = spacing[i];
  }
  return of_dimensions;
}

// Elements of a part are farther from each other by its steps.
void AddSpacing(const ArrayInput& input, Geometry& geometry) {
  const Attributes& attributes = input.node->attributes();
  const ArrayInput& whole = input.part ? input.part->whole : input;
  const auto spacing = FindSpacing(attributes, whole.shape.size());
  for (size_t i = 0; i < spacing.size(); ++i) {
    const ImageAxis shown = AxisInPart(input, i);
    if (!shown.dimension) continue;
    Axis& axis = geometry.axes[*shown.dimension];
    axis.spacing = spacing[i];
    if (axis.spacing) *axis.spacing *= std::abs(shown.step);
  }
}

// Pixels of OME-Zarr, where the array has no coordinates.
void AddOme(const ArrayInput& input, Geometry& geometry) {
  const ArrayInput& whole = input.part ? input.part->whole : input;
  if (!std::holds_alternative<model::Ndarray>(whole.node->entity)) return;
  const std::vector<OmeAxis> all = FindOmeAxes(whole);
  for (size_t i = 0; i < all.size(); ++i) {
    const ImageAxis shown = AxisInPart(input, i);
    if (!shown.dimension) continue;
    Axis& axis = geometry.axes[*shown.dimension];
    if (axis.name.empty()) axis.name = all[i].name;
    if (axis.coordinates || !all[i].is_known) continue;
    axis.known = Steps{all[i].offset + all[i].scale * shown.first, all[i].scale * shown.step};
    axis.units = all[i].unit;
  }
}

// `band_names` of a TIFF file has a name for each band.
void AddBandNames(const ArrayInput& input, Geometry& geometry) {
  if (input.part && input.part->blocks) return;
  const auto* found = model::FindAttribute(input.node->attributes(), "band_names");
  const auto* list = found == nullptr ? nullptr : found->value.list();
  for (size_t d = 0; list != nullptr && d < input.shape.size(); ++d) {
    Axis& axis = geometry.axes[d];
    if (!IsNameOfBands(axis.name) || list->size() != axis.count) continue;
    for (const model::Value& item : *list) {
      const std::string* name = item.text();
      axis.names.push_back(name == nullptr ? std::string() : *name);
    }
  }
}

bool HasMissing(std::span<const std::byte> bytes, std::span<const std::byte> missing) {
  for (size_t i = 0; !missing.empty() && i < bytes.size(); i += missing.size()) {
    if (std::memcmp(bytes.data() + i, missing.data(), missing.size()) == 0) return true;
  }
  return false;
}

// How far a coordinate may be from its place because of its type: half of the last bit of the
// largest one.
double RoundingOf(const Axis& axis, double largest) {
  const int bits = axis.coordinates->number == Number::kFloat32 ? 24 : 53;
  const double of_type = std::ldexp(largest, -bits);
  return IsFloat(axis.coordinates->number) ? of_type : std::abs(axis.scale) / 2;
}

// On the earth, for those on the earth.
bool IsPlausible(const Axis& axis, const Steps& steps) {
  const double last = steps.first + steps.step * static_cast<double>(axis.count - 1);
  const double largest = std::max(std::abs(steps.first), std::abs(last));
  if (axis.role == AxisRole::kLatitude || axis.role == AxisRole::kGridLatitude) {
    return largest <= 90 + 1e-6;
  }
  if (axis.role == AxisRole::kLongitude) return largest <= 720;
  return true;
}

}  // namespace

Result<Geometry> DescribeGeometry(const ArrayInput& input, const NumberArray& numbers) {
  Geometry geometry;
  geometry.axes.resize(numbers.rank());
  const model::Ndarray& array = input.node->array();
  for (size_t d = 0; d < numbers.rank(); ++d) {
    Axis& axis = geometry.axes[d];
    axis.count = numbers.shape[d];
    if (d < array.dimension_names.size()) axis.name = array.dimension_names[d];
    if (d < array.shape.size() && axis.name.empty()) {
      axis.name = model::BaseName(array.shape[d].dimcoord);
    }
    if (d >= input.shape.size()) continue;
    auto coordinates = FindCoordinate(input, d);
    if (!coordinates && IsWorthRetrying(coordinates.error())) {
      return model::Propagate(std::move(coordinates).error());
    }
    if (!coordinates || !*coordinates || axis.count > kMostCoordinates) continue;
    AddCoordinates(**coordinates, axis);
  }
  AddSpacing(input, geometry);
  AddOme(input, geometry);
  AddBandNames(input, geometry);
  NDLFS_RETURN_IF_ERROR(AddMap(input, geometry));
  const ArrayInput& whole = input.part ? input.part->whole : input;
  const auto all = AsNumbers(whole);
  const auto raster = all ? AsRaster(whole, *all) : std::nullopt;
  const bool has_samples = raster && raster->sample_axis && all->rank() == whole.shape.size();
  NDLFS_TRY(geometry.image, FindImageSpace(input, has_samples ? 1 : 0));
  geometry.title = TextOf(input.node->attributes(), "long_name");
  if (geometry.title.empty()) {
    geometry.title = TextOf(input.node->attributes(), "standard_name");
  }
  return geometry;
}

Result<std::vector<double>> ReadCoordinates(const Axis& axis) {
  if (!axis.coordinates) return std::vector<double>();
  const NumberArray& numbers = *axis.coordinates;
  std::vector<std::byte> bytes(numbers.bytes);
  NDLFS_RETURN_IF_ERROR(
      numbers.elements->Read(0, bytes, model::ByteOrder::kLittle, cache::ReadHint::kOnward));
  if (HasMissing(bytes, axis.missing)) return std::vector<double>();
  std::vector<double> coordinates = AsDoubles(numbers.number, bytes);
  for (double& coordinate : coordinates) {
    if (axis.scale != 1 || axis.offset != 0) coordinate = coordinate * axis.scale + axis.offset;
    if (!std::isfinite(coordinate)) return std::vector<double>();
  }
  return coordinates;
}

std::optional<Steps> FindSteps(const Axis& axis, const std::vector<double>& coordinates) {
  if (coordinates.empty()) return std::nullopt;
  constexpr double kCircle = 360;
  const auto is_jump = [](double a, double b) { return std::abs(b - a) > kCircle / 2; };
  if (axis.role == AxisRole::kLongitude &&
      std::ranges::adjacent_find(coordinates, is_jump) != coordinates.end()) {
    std::vector<double> on = coordinates;  // 350, 355, 360 ...
    for (size_t i = 1; i < on.size(); ++i)
      on[i] -= kCircle * std::round((on[i] - on[i - 1]) / kCircle);
    Axis line = axis;
    line.role = AxisRole::kOther;
    return FindSteps(line, on);
  }
  Steps steps{coordinates.front(), std::numeric_limits<double>::quiet_NaN()};
  if (coordinates.size() > 1) {
    const double count = static_cast<double>(coordinates.size() - 1);
    steps.step = (coordinates.back() - coordinates.front()) / count;
    if (!std::isfinite(steps.step) || steps.step == 0) return std::nullopt;
    const double largest =
        std::max(std::abs(coordinates.front()), std::abs(coordinates.back()));
    const double width = std::abs(steps.step);
    const double tolerance =
        kTolerance * width + std::min(RoundingOf(axis, largest), kMostRounding * width);
    for (size_t i = 0; i < coordinates.size(); ++i) {
      const double expected = steps.first + steps.step * static_cast<double>(i);
      if (std::abs(coordinates[i] - expected) > tolerance) return std::nullopt;
    }
  }
  if (coordinates.size() > 1 && !IsPlausible(axis, steps)) return std::nullopt;
  return steps;
}

Result<std::optional<Steps>> ReadSteps(const Axis& axis) {
  if (!axis.coordinates) return axis.known;
  NDLFS_TRY(const std::vector<double> coordinates, ReadCoordinates(axis));
  return FindSteps(axis, coordinates);
}

std::optional<MapPlace> FindMapPlace(const Geometry& geometry, const Raster& raster) {
  using Kind = ReferenceSystem::Kind;
  if (!raster.y_axis) return std::nullopt;
  const Axis& x = geometry.axes[raster.x_axis];
  const Axis& y = geometry.axes[*raster.y_axis];
  const ReferenceSystem& system = geometry.system;
  if (geometry.transform) {
    return MapPlace{x,
                    y,
                    system,
                    system.kind == Kind::kGeographic || system.kind == Kind::kRotated,
                    system.kind != Kind::kUnknown,
                    geometry.transform};
  }
  const auto are = [&](AxisRole a, AxisRole b) { return x.role == a && y.role == b; };
  const bool is_geographic = are(AxisRole::kLongitude, AxisRole::kLatitude) ||
                             are(AxisRole::kGridLongitude, AxisRole::kGridLatitude);
  const bool is_map = are(AxisRole::kEasting, AxisRole::kNorthing);
  const bool is_plane = are(AxisRole::kPlaneX, AxisRole::kPlaneY);
  if ((!is_geographic && !is_map && !is_plane) || x.count < 2 || y.count < 2) {
    return std::nullopt;
  }
  MapPlace place{x, y, system, is_geographic, !is_plane, std::nullopt};
  UseMetres(place.x);
  UseMetres(place.y);
  return place;
}

Result<std::optional<GeoTransform>> ReadGeoTransform(const MapPlace& place) {
  if (place.transform) return place.transform;
  NDLFS_TRY(const auto x, ReadSteps(place.x));
  NDLFS_TRY(const auto y, ReadSteps(place.y));
  // A map from east to west is none that programs expect.
  if (!x || !y || x->step < 0) return std::nullopt;
  return GeoTransform{x->first - x->step / 2, x->step, y->first - y->step / 2, y->step};
}

std::string NumberText::operator()(double number) const {
  // "-2.2250738585072014e-308" and its like are the longest.
  constexpr size_t kWidest = 24;
  return is_widest_ ? std::string(kWidest, '9') : fmt::format("{}", number);
}

Result<std::string> FillUp(std::string text, uint64_t size) {
  constexpr uint64_t kLine = 80;
  if (text.size() > size) {
    return model::Internal("a header of {} bytes, not {}", text.size(), size);
  }
  while (text.size() < size) {
    const uint64_t line = std::min<uint64_t>(kLine, size - text.size());
    text.append(line - 1, ' ').push_back('\n');
  }
  return text;
}

AllSteps LongestSteps(const Geometry& geometry) {
  AllSteps steps;
  for (const Axis& axis : geometry.axes) {
    steps.push_back(axis.coordinates ? std::optional(Steps{0, 1}) : axis.known);
  }
  return steps;
}

Result<AllSteps> ReadAllSteps(const Geometry& geometry) {
  AllSteps all;
  for (const Axis& axis : geometry.axes) {
    NDLFS_TRY(auto steps, ReadSteps(axis));
    all.push_back(steps);
  }
  return all;
}

double SpacingOf(const Axis& axis, const std::optional<Steps>& steps) {
  if (steps && !std::isnan(steps->step)) return std::abs(steps->step);
  return axis.spacing.value_or(1);
}

double OriginOf(const std::optional<Steps>& steps) {
  // Not a number where there is only one coordinate, so not below 0.
  return steps && !(steps->step < 0) ? steps->first : 0;
}

}  // namespace ndlfs::fs
