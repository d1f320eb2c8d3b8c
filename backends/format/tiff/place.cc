// SPDX-License-Identifier: MIT
#include "backends/format/tiff/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "backends/format/sinusoidal.h"
#include "model/attributes.h"

namespace ndlfs::backends::tiff {
namespace {

using model::Result;

// GeoKeys; annex B of the specification.
constexpr uint16_t kModelType = 1024, kRasterType = 1025, kCitation = 1026,
                   kGeographicType = 2048, kPrimeMeridian = 2051, kAngularUnits = 2054,
                   kSemiMajorAxis = 2057, kSemiMinorAxis = 2058, kInvFlattening = 2059,
                   kMeridianLongitude = 2061, kProjectedType = 3072, kProjCoordTrans = 3075,
                   kLinearUnits = 3076, kStdParallel1 = 3078, kStdParallel2 = 3079,
                   kNatOriginLong = 3080, kNatOriginLat = 3081, kFalseEasting = 3082,
                   kFalseNorthing = 3083, kFalseOriginLong = 3084, kFalseOriginLat = 3085,
                   kFalseOriginEasting = 3086, kFalseOriginNorthing = 3087, kCenterLong = 3088,
                   kCenterLat = 3089, kScaleAtNatOrigin = 3092, kStraightPoleLong = 3095;
constexpr uint16_t kUserDefined = 32767, kMetre = 9001, kPixelIsPoint = 2;
constexpr uint64_t kMostNumbers = 65536;

// The numbers of a field; none if there is no such field, or if it is of another kind.
Result<std::vector<double>> NumbersOf(TiffReader& reader, const Directory& directory,
                                      uint16_t tag) {
  const Field* field = directory.Find(tag);
  if (field == nullptr) return std::vector<double>();
  auto numbers = reader.Reals(*field, kMostNumbers);
  if (!numbers && !numbers.error().is_transient()) return std::vector<double>();
  return numbers;
}

Result<std::vector<GeoKey>> ReadKeys(TiffReader& reader, const Directory& directory) {
  std::vector<GeoKey> keys;
  const Field* field = directory.Find(kGeoKeyDirectory);
  if (field == nullptr) return keys;
  auto shorts_read = reader.Integers(*field, kMostNumbers);
  if (!shorts_read && shorts_read.error().is_transient()) {
    return model::Propagate(shorts_read.error());
  }
  const auto shorts = shorts_read ? *std::move(shorts_read) : std::vector<uint64_t>();
  NDLFS_TRY(const auto numbers, NumbersOf(reader, directory, kGeoDoubleParams));
  std::string text;
  if (const Field* ascii = directory.Find(kGeoAsciiParams)) {
    auto found = reader.Text(*ascii, kMostNumbers);
    if (!found && found.error().is_transient()) return model::Propagate(found.error());
    if (found) text = *std::move(found);
  }
  for (size_t at = 4; at + 4 <= shorts.size(); at += 4) {
    GeoKey key;
    key.id = static_cast<uint16_t>(shorts[at]);
    const uint64_t where = shorts[at + 1], count = shorts[at + 2], offset = shorts[at + 3];
    if (where == 0) key.code = static_cast<uint16_t>(offset);
    if (where == kGeoDoubleParams && offset <= numbers.size() &&
        count <= numbers.size() - offset) {
      const auto begin = numbers.begin() + static_cast<ptrdiff_t>(offset);
      key.numbers.assign(begin, begin + static_cast<ptrdiff_t>(count));
    }
    if (where == kGeoAsciiParams && offset <= text.size()) {
      key.text = text.substr(offset, count);
      while (key.text.ends_with('|')) key.text.pop_back();
    }
    keys.push_back(std::move(key));
  }
  std::ranges::stable_sort(keys, {}, &GeoKey::id);
  return keys;
}

std::optional<double> NumberOf(const Place& place, uint16_t id) {
  const auto found = std::ranges::lower_bound(place.keys, id, {}, &GeoKey::id);
  if (found == place.keys.end() || found->id != id || found->numbers.empty()) {
    return std::nullopt;
  }
  return found->numbers[0];
}

std::string TextOf(const Place& place, uint16_t id) {
  const auto found = std::ranges::lower_bound(place.keys, id, {}, &GeoKey::id);
  return found == place.keys.end() || found->id != id ? std::string() : found->text;
}

Result<std::optional<std::array<double, 6>>> ReadTransform(TiffReader& reader,
                                                           const Directory& directory,
                                                           bool is_point) {
  NDLFS_TRY(const auto scale, NumbersOf(reader, directory, kModelPixelScale));
  NDLFS_TRY(const auto tie, NumbersOf(reader, directory, kModelTiepoint));
  NDLFS_TRY(const auto matrix, NumbersOf(reader, directory, kModelTransformation));
  std::array<double, 6> made{};
  if (scale.size() >= 2 && tie.size() == 6 && scale[0] != 0 && scale[1] != 0) {
    made = {tie[3] - tie[0] * scale[0], scale[0], 0, tie[4] + tie[1] * scale[1], 0, -scale[1]};
  } else if (matrix.size() == 16) {
    made = {matrix[3], matrix[0], matrix[1], matrix[7], matrix[4], matrix[5]};
  } else {
    return std::nullopt;
  }
  // The fields tell the place of the pixel's middle then.
  if (is_point) {
    made[0] -= (made[1] + made[2]) / 2;
    made[3] -= (made[4] + made[5]) / 2;
  }
  for (const double number : made) {
    if (!std::isfinite(number)) return std::nullopt;
  }
  return made;
}

class Attributes {
 public:
  void Text(const char* name, std::string_view text) {
    if (!text.empty()) made_.push_back(model::MakeTextAttribute(name, text));
  }
  void Real(const char* name, std::optional<double> value) {
    if (value) made_.push_back({name, model::Datatype::Float64(), {}, *value, {}});
  }
  void Reals(const char* name, std::initializer_list<double> values) {
    made_.push_back({name,
                     model::Datatype::Float64(),
                     {values.size()},
                     model::Value::List(values.begin(), values.end()),
                     {}});
  }
  std::vector<model::Attribute> Take() && { return std::move(made_); }

 private:
  std::vector<model::Attribute> made_;
};

std::optional<double> First(const Place& place, std::initializer_list<uint16_t> ids) {
  for (const uint16_t id : ids) {
    if (const auto number = NumberOf(place, id)) return number;
  }
  return std::nullopt;
}

// The methods of projections of GeoKeys.
enum Method : uint16_t {
  kTransverseMercator = 1,
  kMercator = 7,
  kConformalConic2 = 8,
  kConformalConic1 = 9,
  kAzimuthalEqualArea = 10,
  kAlbers = 11,
  kPolarStereographic = 15,
  kSinusoidal = 24,
};

// A pole is the origin, and either a parallel has its true scale, or the pole has a factor.
void AddPolar(const Place& place, Attributes& attributes) {
  constexpr double kPole = 90;
  const double latitude = NumberOf(place, kNatOriginLat).value_or(kPole);
  attributes.Text("grid_mapping_name", "polar_stereographic");
  attributes.Real("straight_vertical_longitude_from_pole",
                  First(place, {kStraightPoleLong, kNatOriginLong}).value_or(0));
  attributes.Real("latitude_of_projection_origin", latitude < 0 ? -kPole : kPole);
  if (std::abs(latitude) < kPole) {
    attributes.Real("standard_parallel", latitude);
  } else {
    attributes.Real("scale_factor_at_projection_origin",
                    NumberOf(place, kScaleAtNatOrigin).value_or(1));
  }
}

void AddConic(const Place& place, const char* name, Attributes& attributes) {
  const double first = NumberOf(place, kStdParallel1).value_or(0);
  attributes.Text("grid_mapping_name", name);
  attributes.Reals("standard_parallel",
                   {first, NumberOf(place, kStdParallel2).value_or(first)});
  attributes.Real("longitude_of_central_meridian",
                  First(place, {kFalseOriginLong, kNatOriginLong, kCenterLong}).value_or(0));
  attributes.Real("latitude_of_projection_origin",
                  First(place, {kFalseOriginLat, kNatOriginLat, kCenterLat}).value_or(0));
}

void AddMercator(const Place& place, Attributes& attributes) {
  attributes.Text("grid_mapping_name", "mercator");
  attributes.Real("longitude_of_projection_origin",
                  First(place, {kNatOriginLong, kCenterLong}).value_or(0));
  if (const auto parallel = NumberOf(place, kStdParallel1)) {
    attributes.Real("standard_parallel", parallel);
  } else {
    attributes.Real("scale_factor_at_projection_origin",
                    NumberOf(place, kScaleAtNatOrigin).value_or(1));
  }
}

void AddAround(const Place& place, const char* name, const char* longitude,
               Attributes& attributes) {
  attributes.Text("grid_mapping_name", name);
  attributes.Real(longitude, First(place, {kNatOriginLong, kCenterLong}).value_or(0));
}

// Adds the method and its parameters. False for those that CF has no word for.
bool AddMethod(const Place& place, uint16_t method, Attributes& attributes) {
  const double latitude = First(place, {kNatOriginLat, kCenterLat}).value_or(0);
  const double scale = NumberOf(place, kScaleAtNatOrigin).value_or(1);
  switch (method) {
    case kTransverseMercator:
      AddAround(place, "transverse_mercator", "longitude_of_central_meridian", attributes);
      attributes.Real("latitude_of_projection_origin", latitude);
      attributes.Real("scale_factor_at_central_meridian", scale);
      return true;
    case kMercator:
      // CF's has the equator as its origin.
      if (latitude != 0) return false;
      AddMercator(place, attributes);
      return true;
    case kConformalConic2:
      AddConic(place, "lambert_conformal_conic", attributes);
      return true;
    case kConformalConic1:
      // CF has no factor of scale here: without one the origin is the parallel.
      if (scale != 1) return false;
      AddAround(place, "lambert_conformal_conic", "longitude_of_central_meridian", attributes);
      attributes.Real("standard_parallel", latitude);
      attributes.Real("latitude_of_projection_origin", latitude);
      return true;
    case kAzimuthalEqualArea:
      AddAround(place, "lambert_azimuthal_equal_area", "longitude_of_projection_origin",
                attributes);
      attributes.Real("latitude_of_projection_origin", latitude);
      return true;
    case kAlbers:
      AddConic(place, "albers_conical_equal_area", attributes);
      return true;
    case kPolarStereographic:
      AddPolar(place, attributes);
      return true;
    case kSinusoidal:
      AddAround(place, "sinusoidal", "longitude_of_projection_origin", attributes);
      return true;
    default:
      return false;
  }
}

// The parameters of a projection that has no code, by the names of CF 1.10, appendix F. Angles
// are in degrees and lengths in metres, or there are none.
void AddProjection(const Place& place, Attributes& attributes) {
  const auto method = place.CodeOf(kProjCoordTrans);
  const auto units = place.CodeOf(kLinearUnits);
  if (!method || (units && *units != kMetre) || !AddMethod(place, *method, attributes)) return;
  attributes.Real("false_easting",
                  First(place, {kFalseEasting, kFalseOriginEasting}).value_or(0));
  attributes.Real("false_northing",
                  First(place, {kFalseNorthing, kFalseOriginNorthing}).value_or(0));
}

struct Ellipsoid {
  double semi_major = 0;
  double inverse_flattening = 0;
};
constexpr Ellipsoid kWgs84 = {6'378'137, 298.257223563};
constexpr Ellipsoid kGrs80 = {6'378'137, 298.257222101};

// Zones of UTM by their codes: GDAL's reader of netCDF, and with it QGIS, knows no codes.
struct Zones {
  uint16_t base;  // the code of a zone is its number more
  int first, last;
  bool is_south;
  Ellipsoid ellipsoid;
};
constexpr Zones kZones[] = {
    {32600, 1, 60, false, kWgs84},   // WGS 84
    {32700, 1, 60, true, kWgs84},    // WGS 84
    {25800, 28, 38, false, kGrs80},  // ETRS89
    {26900, 1, 23, false, kGrs80},   // NAD83
};

const Zones* FindZones(uint16_t epsg) {
  const auto found = std::ranges::find_if(kZones, [&](const Zones& zones) {
    return epsg >= zones.base + zones.first && epsg <= zones.base + zones.last;
  });
  return found == std::end(kZones) ? nullptr : found;
}

void AddUtm(uint16_t epsg, Attributes& attributes) {
  const Zones* zones = FindZones(epsg);
  if (zones == nullptr) return;
  attributes.Text("grid_mapping_name", "transverse_mercator");
  attributes.Real("longitude_of_central_meridian", (epsg - zones->base) * 6 - 183);
  attributes.Real("latitude_of_projection_origin", 0);
  attributes.Real("scale_factor_at_central_meridian", 0.9996);
  attributes.Real("false_easting", 500'000);
  attributes.Real("false_northing", zones->is_south ? 10'000'000 : 0);
}

// The ellipsoid of a code, whose file need not tell it.
std::optional<Ellipsoid> EllipsoidOf(uint16_t epsg) {
  constexpr uint16_t kWgs84Degrees = 4326, kEtrs89 = 4258, kNad83 = 4269;
  if (const Zones* zones = FindZones(epsg)) return zones->ellipsoid;
  if (epsg == kWgs84Degrees) return kWgs84;
  if (epsg == kEtrs89 || epsg == kNad83) return kGrs80;
  return std::nullopt;
}

// Codes of longitudes from another meridian than Greenwich; some count grads.
bool IsFromOtherMeridian(uint16_t epsg) {
  return (epsg >= 4801 && epsg <= 4821) || (epsg >= 4901 && epsg <= 4904);
}

// Whether angles are degrees, and longitudes are from Greenwich. No system is named for others:
// CF has no word for the unit, and few programs read the one for the meridian.
bool HasUsualAngles(const Place& place) {
  constexpr uint16_t kDegree = 9102, kAnyDegree = 9122, kGreenwich = 8901;
  const uint16_t units = place.CodeOf(kAngularUnits).value_or(kDegree);
  if (units != kDegree && units != kAnyDegree) return false;
  if (IsFromOtherMeridian(place.CodeOf(kGeographicType).value_or(0))) return false;
  const uint16_t meridian = place.CodeOf(kPrimeMeridian).value_or(kGreenwich);
  const auto longitude = NumberOf(place, kMeridianLongitude);
  return meridian == kGreenwich ? longitude.value_or(0) == 0
                                : meridian == kUserDefined && longitude == 0.0;
}

std::optional<uint16_t> EpsgOf(const Place& place) {
  if (place.is_geographic() && !HasUsualAngles(place)) return std::nullopt;
  const auto code = place.CodeOf(place.is_geographic() ? kGeographicType : kProjectedType);
  // Codes from 1024 on are EPSG's; 32767 says that the keys describe the system.
  return code && *code >= 1024 && *code != kUserDefined ? code : std::nullopt;
}

}  // namespace

std::optional<uint16_t> Place::CodeOf(uint16_t id) const {
  const auto found = std::ranges::lower_bound(keys, id, {}, &GeoKey::id);
  return found == keys.end() || found->id != id ? std::nullopt : found->code;
}

bool Place::is_point() const { return CodeOf(kRasterType) == kPixelIsPoint; }

bool Place::is_geographic() const { return CodeOf(kModelType) == 2; }

Result<std::optional<Place>> ReadPlace(TiffReader& reader, const Directory& directory) {
  const bool any = std::ranges::any_of(
      std::array{kModelPixelScale, kModelTiepoint, kModelTransformation, kGeoKeyDirectory},
      [&](uint16_t tag) { return directory.Find(tag) != nullptr; });
  if (!any) return std::nullopt;
  Place place;
  NDLFS_TRY(place.keys, ReadKeys(reader, directory));
  NDLFS_TRY(place.transform, ReadTransform(reader, directory, place.is_point()));
  if (place.keys.empty() && !place.transform) return std::nullopt;
  return place;
}

std::vector<model::Attribute> AttributesOfPlace(const Place& place) {
  Attributes attributes;
  const auto epsg = EpsgOf(place);
  const bool is_usual = HasUsualAngles(place);
  if (place.is_geographic() && is_usual) {
    attributes.Text("grid_mapping_name", "latitude_longitude");
  }
  if (epsg) {
    attributes.Text("epsg_code", fmt::format("EPSG:{}", *epsg));
    if (!place.is_geographic()) AddUtm(*epsg, attributes);
  } else if (!place.is_geographic() && is_usual) {
    AddProjection(place, attributes);
  }
  const auto semi_major = NumberOf(place, kSemiMajorAxis);
  const auto coded = epsg ? epsg : place.CodeOf(kGeographicType);
  const auto ellipsoid = coded ? EllipsoidOf(*coded) : std::nullopt;
  if (!semi_major && ellipsoid) {
    attributes.Real("semi_major_axis", ellipsoid->semi_major);
    attributes.Real("inverse_flattening", ellipsoid->inverse_flattening);
  } else {
    attributes.Real("semi_major_axis", semi_major);
    attributes.Real("semi_minor_axis", NumberOf(place, kSemiMinorAxis));
    attributes.Real("inverse_flattening", NumberOf(place, kInvFlattening));
  }
  attributes.Text("GTCitationGeoKey", TextOf(place, kCitation));
  if (place.transform) {
    const auto& t = *place.transform;
    attributes.Text("GeoTransform",
                    fmt::format("{} {} {} {} {} {}", t[0], t[1], t[2], t[3], t[4], t[5]));
  }
  std::vector<model::Attribute> made = std::move(attributes).Take();
  if (auto text = TextOfSinusoidal(made)) made.push_back(*std::move(text));
  return made;
}

std::vector<model::Attribute> AttributesOfAxis(const Place& place, bool is_x) {
  Attributes attributes;
  if (place.is_geographic() && HasUsualAngles(place)) {
    attributes.Text("standard_name", is_x ? "longitude" : "latitude");
    attributes.Text("units", is_x ? "degrees_east" : "degrees_north");
  } else if (place.CodeOf(kModelType) == 1) {
    attributes.Text("standard_name",
                    is_x ? "projection_x_coordinate" : "projection_y_coordinate");
    if (place.CodeOf(kLinearUnits) == kMetre) attributes.Text("units", "m");
  }
  attributes.Text("axis", is_x ? "X" : "Y");
  return std::move(attributes).Take();
}

}  // namespace ndlfs::backends::tiff
