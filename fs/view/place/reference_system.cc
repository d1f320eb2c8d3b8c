// SPDX-License-Identifier: MIT
#include "fs/view/place/reference_system.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <span>

#include "backends/base/json.h"
#include "fs/view/base/attributes.h"
#include "model/number_text.h"

namespace ndlfs::fs {
namespace {

using backends::Json;
using model::Result;
using Attributes = std::vector<model::Attribute>;
using SystemKind = ReferenceSystem::Kind;

// A longer text is no name of a system.
constexpr size_t kMostSystemText = size_t{1} << 16;

// The codes of EPSG whose systems are geographic and have two dimensions, in ranges: codes
// between them are other systems, or none.
constexpr std::array<std::pair<int, int>, 111> kGeographicCodes = {{
#include "fs/view/place/geographic_codes.inc"
}};

bool IsGeographicCode(int code) {
  return std::ranges::any_of(kGeographicCodes, [&](const auto& range) {
    return code >= range.first && code <= range.second;
  });
}

// GeoTIFF has 16 bits for a code, and keeps some of them for itself.
ReferenceSystem SystemOfCode(std::string_view digits) {
  ReferenceSystem system;
  const int code = model::ParseNumber<int>(digits).value_or(0);
  if (code < 1024 || code > 32766) return system;
  system.epsg = code;
  system.kind = IsGeographicCode(code) ? SystemKind::kGeographic : SystemKind::kProjected;
  return system;
}

// The number at the end of a well-known text: that of the whole system, and not of its parts.
std::optional<int> EpsgOfWkt(std::string_view text) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  if (!text.ends_with("]]")) return std::nullopt;
  text.remove_suffix(2);
  const size_t mark =
      std::max(text.rfind("AUTHORITY[\"EPSG\",") + 1, text.rfind("ID[\"EPSG\",") + 1);
  if (mark == 0) return std::nullopt;
  std::string_view digits = text.substr(text.find(',', mark) + 1);
  if (digits.starts_with('"') && digits.ends_with('"') && digits.size() >= 2) {
    digits = digits.substr(1, digits.size() - 2);
  }
  return SystemOfCode(digits).epsg;
}

// The text from `keyword` to its closing bracket; empty where it is not there.
std::string_view WktElement(std::string_view text, std::string_view keyword) {
  const size_t begin = text.find(keyword);
  if (begin == std::string_view::npos) return {};
  int depth = 0;
  bool is_quoted = false;
  for (size_t i = begin; i < text.size(); ++i) {
    if (text[i] == '"') is_quoted = !is_quoted;
    if (is_quoted) continue;
    if (text[i] == '[') ++depth;
    if (text[i] == ']' && --depth == 0) return text.substr(begin, i + 1 - begin);
  }
  return {};
}

// If a system has a height, or a shift to another datum, its horizontal part counts.
ReferenceSystem SystemOfWkt(std::string_view text) {
  ReferenceSystem system;
  std::string_view part = text;
  if (text.starts_with("COMP") || text.starts_with("BOUNDCRS")) {
    for (const std::string_view keyword :
         {"PROJCS[", "PROJCRS[", "GEOGCS[", "GEOGCRS[", "GEODCRS["}) {
      part = WktElement(text, keyword);
      if (!part.empty()) break;
    }
  }
  if (part.starts_with("PROJ") || part.starts_with("DERIVEDPROJCRS")) {
    system.kind = SystemKind::kProjected;
  } else if (part.starts_with("GEOGCRS[") &&
             part.find("DERIVINGCONVERSION[") != std::string_view::npos) {
    system.kind = SystemKind::kRotated;
  } else if (part.starts_with("GEOG") || part.starts_with("GEODCRS[") ||
             part.starts_with("GEODETICCRS[")) {
    system.kind = SystemKind::kGeographic;
  } else {
    return system;
  }
  system.epsg = EpsgOfWkt(part);
  system.text = part;
  return system;
}

// "+proj=utm +zone=32 +datum=WGS84" has a code of EPSG.
std::optional<int> EpsgOfUtm(const std::string& text) {
  const size_t zone_at = text.find("+zone=");
  const bool is_wgs84 = text.find("+datum=wgs84") != std::string::npos;
  if (text.find("+proj=utm") == std::string::npos || !is_wgs84 || zone_at == text.npos) {
    return std::nullopt;
  }
  std::string_view rest = std::string_view(text).substr(zone_at + 6);
  const int zone = model::TakeNumber<int>(rest).value_or(0);
  if (zone < 1 || zone > 60) return std::nullopt;
  return (text.find("+south") == std::string::npos ? 32600 : 32700) + zone;
}

ReferenceSystem SystemOfProj(const std::string& text) {
  ReferenceSystem system;
  const std::string lower = LowerCase(text);
  const bool is_geographic = lower.find("+proj=longlat") != std::string::npos ||
                             lower.find("+proj=latlong") != std::string::npos;
  const bool is_rotated = lower.find("+proj=ob_tran") != std::string::npos;
  system.kind = is_rotated      ? SystemKind::kRotated
                : is_geographic ? SystemKind::kGeographic
                                : SystemKind::kProjected;
  system.epsg = EpsgOfUtm(lower);
  system.text = text;
  return system;
}

ReferenceSystem SystemOfText(std::string_view given, int depth);

// PROJJSON, or GDAL's `_CRS`, which has one of several forms.
ReferenceSystem SystemOfJson(const std::string& text, int depth) {
  const auto json = backends::ParseJson(text);
  if (!json || !json->is_object()) return {};
  const auto member = [&](const char* name) -> const Json* {
    const auto found = json->find(name);
    return found == json->end() ? nullptr : &*found;
  };
  ReferenceSystem best;
  for (const char* name : {"wkt", "projjson", "url"}) {
    const Json* form = member(name);
    if (form == nullptr || best.epsg) continue;
    auto system =
        SystemOfText(form->is_string() ? form->get<std::string>() : form->dump(), depth + 1);
    if (best.kind == SystemKind::kUnknown) {
      best = std::move(system);
    } else if (best.kind == system.kind) {
      best.epsg = system.epsg;
    }
  }
  const Json* type = member("type");
  if (best.kind != SystemKind::kUnknown || type == nullptr || !type->is_string()) return best;
  const auto kind = type->get<std::string>();
  if (kind == "BoundCRS" || kind == "CompoundCRS") {
    const Json* parts = member(kind == "BoundCRS" ? "source_crs" : "components");
    if (parts != nullptr && parts->is_array() && !parts->empty()) parts = &parts->front();
    return parts == nullptr ? best : SystemOfText(parts->dump(), depth + 1);
  }
  if (kind == "ProjectedCRS" || kind == "DerivedProjectedCRS")
    best.kind = SystemKind::kProjected;
  if (kind == "GeographicCRS" || kind == "GeodeticCRS") best.kind = SystemKind::kGeographic;
  if (kind == "DerivedGeographicCRS") best.kind = SystemKind::kRotated;
  if (best.kind == SystemKind::kUnknown) return best;
  best.text = text;
  const Json* id = member("id");
  if (id == nullptr || !id->is_object()) return best;
  const auto authority = id->find("authority");
  const auto code = id->find("code");
  const bool is_epsg = authority != id->end() && authority->is_string() &&
                       authority->get<std::string>() == "EPSG" && code != id->end();
  if (!is_epsg) return best;
  best.epsg = SystemOfCode(code->is_string() ? code->get<std::string>() : code->dump()).epsg;
  return best;
}

// Well-known text, PROJJSON, a PROJ string, "EPSG:32632", "urn:ogc:def:crs:EPSG::32632", a URL
// of that kind, or a number.
ReferenceSystem SystemOfText(std::string_view given, int depth) {
  constexpr int kMostDepth = 4;
  if (given.size() > kMostSystemText || depth > kMostDepth) return {};
  std::string text(given);
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return {};
  text = text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
  if (text.front() == '{') return SystemOfJson(text, depth);
  if (text.find('[') != std::string::npos) return SystemOfWkt(text);
  const std::string lower = LowerCase(text);
  if (lower.ends_with("crs84")) return SystemOfCode("4326");
  const size_t last = text.find_last_not_of("0123456789");
  const std::string_view digits =
      std::string_view(text).substr(last == std::string::npos ? 0 : last + 1);
  const size_t epsg = lower.find("epsg");
  if (epsg != std::string::npos || last == std::string::npos) return SystemOfCode(digits);
  return lower.starts_with("+proj=") ? SystemOfProj(text) : ReferenceSystem();
}

// `text` of an attribute, or its number.
std::string TextOrNumber(const Attributes& attributes, std::string_view name) {
  if (const auto number = NumberOf(attributes, name)) return fmt::format("{}", *number);
  return TextOf(attributes, name);
}

// --- CF's parameters

class CfParameters {
 public:
  explicit CfParameters(const Attributes& attributes) : attributes_(attributes) {}

  double Of(std::initializer_list<std::string_view> names, double otherwise = 0) const {
    for (const std::string_view name : names) {
      const auto number = NumberOf(attributes_, name);
      if (number && std::isfinite(*number)) return *number;
    }
    return otherwise;
  }
  bool Has(std::string_view name) const { return NumberOf(attributes_, name).has_value(); }
  std::vector<double> Parallels() const {
    auto all = NumbersOf(attributes_, "standard_parallel");
    if (all.size() > 2) all.resize(2);
    return all;
  }
  double longitude() const {
    return Of({"longitude_of_central_meridian", "longitude_of_projection_origin",
               "straight_vertical_longitude_from_pole"});
  }
  double latitude() const { return Of({"latitude_of_projection_origin"}); }
  double easting() const { return Of({"false_easting"}); }
  double northing() const { return Of({"false_northing"}); }
  double scale() const {
    return Of({"scale_factor_at_central_meridian", "scale_factor_at_projection_origin"}, 1);
  }
  std::string text(std::string_view name) const { return TextOf(attributes_, name); }

  Ellipsoid ellipsoid() const {
    Ellipsoid made;
    made.is_known = Has("semi_major_axis") || Has("earth_radius");
    const std::string names =
        LowerCase(text("reference_ellipsoid_name") + text("horizontal_datum_name") +
                  text("geographic_crs_name"));
    if (!made.is_known) {
      made.is_known = names.find("wgs 84") != std::string::npos ||
                      names.find("wgs84") != std::string::npos ||
                      names.find("wgs_1984") != std::string::npos;
      return made;
    }
    made.semi_major = Of({"semi_major_axis", "earth_radius"});
    const double minor = Of({"semi_minor_axis"}, made.semi_major);
    const double by_minor =
        minor < made.semi_major ? made.semi_major / (made.semi_major - minor) : 0;
    made.inverse_flattening = Of({"inverse_flattening"}, by_minor);
    return made;
  }

 private:
  const Attributes& attributes_;
};

bool IsWgs84(const Ellipsoid& ellipsoid) {
  const Ellipsoid wgs84;
  return ellipsoid.is_known && std::abs(ellipsoid.semi_major - wgs84.semi_major) < 1e-3 &&
         std::abs(ellipsoid.inverse_flattening - wgs84.inverse_flattening) < 1e-5;
}

std::string ProjEllipsoid(const Ellipsoid& ellipsoid) {
  if (!ellipsoid.is_known || IsWgs84(ellipsoid)) return " +datum=WGS84";
  if (ellipsoid.inverse_flattening == 0) return fmt::format(" +R={}", ellipsoid.semi_major);
  return fmt::format(" +a={} +rf={}", ellipsoid.semi_major, ellipsoid.inverse_flattening);
}

// A projection in both words for it: PROJ's, and GeoTIFF's.
struct CfProjection {
  std::string proj;
  GeoTiffProjection geotiff;
};

// Numbers of GeoTIFF 1.1, annex C.
enum GeoTiffKey : uint16_t {
  kStdParallel1 = 3078,
  kStdParallel2 = 3079,
  kNatOriginLong = 3080,
  kNatOriginLat = 3081,
  kFalseEasting = 3082,
  kFalseNorthing = 3083,
  kFalseOriginLong = 3084,
  kFalseOriginLat = 3085,
  kFalseOriginEasting = 3086,
  kFalseOriginNorthing = 3087,
  kCenterLong = 3088,
  kCenterLat = 3089,
  kScaleAtNatOrigin = 3092,
  kStraightVertPoleLong = 3095,
};

// Cones, and cylinders.
std::optional<CfProjection> ConeOrCylinder(const std::string& name, const CfParameters& cf) {
  const double lon = cf.longitude();
  const double lat = cf.latitude();
  const double x = cf.easting();
  const double y = cf.northing();
  const auto parallels = cf.Parallels();
  const double first = parallels.empty() ? lat : parallels.front();
  const double second = parallels.empty() ? lat : parallels.back();
  if (name == "transverse_mercator") {
    return CfProjection{fmt::format("tmerc +lat_0={} +lon_0={} +k={}", lat, lon, cf.scale()),
                        {1,
                         {{kNatOriginLong, lon},
                          {kNatOriginLat, lat},
                          {kFalseEasting, x},
                          {kFalseNorthing, y},
                          {kScaleAtNatOrigin, cf.scale()}}}};
  }
  if (name == "lambert_conformal_conic") {
    return CfProjection{
        fmt::format("lcc +lat_0={} +lon_0={} +lat_1={} +lat_2={}", lat, lon, first, second),
        {8,
         {{kStdParallel1, first},
          {kStdParallel2, second},
          {kFalseOriginLong, lon},
          {kFalseOriginLat, lat},
          {kFalseOriginEasting, x},
          {kFalseOriginNorthing, y}}}};
  }
  if (name == "albers_conical_equal_area") {
    return CfProjection{
        fmt::format("aea +lat_0={} +lon_0={} +lat_1={} +lat_2={}", lat, lon, first, second),
        {11,
         {{kStdParallel1, first},
          {kStdParallel2, second},
          {kNatOriginLong, lon},
          {kNatOriginLat, lat},
          {kFalseEasting, x},
          {kFalseNorthing, y}}}};
  }
  if (name == "mercator" && !parallels.empty()) {
    return CfProjection{fmt::format("merc +lon_0={} +lat_ts={}", lon, first),
                        {7,
                         {{kStdParallel1, first},
                          {kNatOriginLong, lon},
                          {kFalseEasting, x},
                          {kFalseNorthing, y}}}};
  }
  if (name == "mercator") {
    return CfProjection{fmt::format("merc +lon_0={} +k={}", lon, cf.scale()),
                        {7,
                         {{kNatOriginLong, lon},
                          {kNatOriginLat, 0},
                          {kFalseEasting, x},
                          {kFalseNorthing, y},
                          {kScaleAtNatOrigin, cf.scale()}}}};
  }
  if (name == "lambert_cylindrical_equal_area") {
    return CfProjection{fmt::format("cea +lon_0={} +lat_ts={}", lon, first),
                        {28,
                         {{kStdParallel1, first},
                          {kNatOriginLong, lon},
                          {kFalseEasting, x},
                          {kFalseNorthing, y}}}};
  }
  return std::nullopt;
}

// Planes, and others.
std::optional<CfProjection> PlaneOrOther(const std::string& name, const CfParameters& cf) {
  const double lon = cf.longitude();
  const double lat = cf.latitude();
  const std::vector<std::pair<uint16_t, double>> center = {{kFalseEasting, cf.easting()},
                                                           {kFalseNorthing, cf.northing()},
                                                           {kCenterLong, lon},
                                                           {kCenterLat, lat}};
  const auto by_center = [&](std::string_view word, uint16_t method) {
    return CfProjection{fmt::format("{} +lat_0={} +lon_0={}", word, lat, lon),
                        {method, center}};
  };
  if (name == "lambert_azimuthal_equal_area") return by_center("laea", 10);
  if (name == "azimuthal_equidistant") return by_center("aeqd", 12);
  if (name == "orthographic") return by_center("ortho", 21);
  if (name == "sinusoidal") {
    return CfProjection{
        fmt::format("sinu +lon_0={}", lon),
        {24,
         {{kFalseEasting, cf.easting()}, {kFalseNorthing, cf.northing()}, {kCenterLong, lon}}}};
  }
  const bool is_polar = name == "polar_stereographic";
  if (is_polar || name == "stereographic") {
    const auto parallels = cf.Parallels();
    const bool has_parallel = is_polar && !parallels.empty();
    const double pole =
        lat != 0 || !is_polar ? lat : (has_parallel && parallels[0] < 0 ? -90 : 90);
    const std::string size = has_parallel ? fmt::format(" +lat_ts={}", parallels[0])
                                          : fmt::format(" +k={}", cf.scale());
    CfProjection made{fmt::format("stere +lat_0={} +lon_0={}{}", pole, lon, size), {}};
    if (is_polar) {
      made.geotiff = {15,
                      {{kNatOriginLat, has_parallel ? parallels[0] : pole},
                       {kFalseEasting, cf.easting()},
                       {kFalseNorthing, cf.northing()},
                       {kScaleAtNatOrigin, has_parallel ? 1 : cf.scale()},
                       {kStraightVertPoleLong, lon}}};
    } else {
      made.geotiff = {14, center};
      made.geotiff.keys.emplace_back(kScaleAtNatOrigin, cf.scale());
    }
    return made;
  }
  if (name == "oblique_mercator") {
    return CfProjection{fmt::format("omerc +lat_0={} +lonc={} +alpha={} +k={}", lat, lon,
                                    cf.Of({"azimuth_of_central_line"}), cf.scale()),
                        {}};
  }
  if (name == "geostationary") {
    const std::string sweep =
        cf.text("sweep_angle_axis") == "x" || cf.text("fixed_angle_axis") == "y" ? "x" : "y";
    return CfProjection{fmt::format("geos +h={} +lon_0={} +sweep={}",
                                    cf.Of({"perspective_point_height"}), lon, sweep),
                        {}};
  }
  return std::nullopt;
}

// The meridian of 0 of the rotated system goes through the true north pole: PROJ's `lon_0` is
// behind it by half a turn.
std::string RotatedPole(const CfParameters& cf) {
  double lon = 180 + cf.Of({"grid_north_pole_longitude"});
  if (lon > 180) lon -= 360;
  return fmt::format("+proj=ob_tran +o_proj=longlat +o_lon_p={} +o_lat_p={} +lon_0={}",
                     cf.Of({"north_pole_grid_longitude"}),
                     cf.Of({"grid_north_pole_latitude"}, 90), lon);
}

// The code of a zone of UTM on WGS 84.
std::optional<int> EpsgOfZone(const std::string& name, const CfParameters& cf) {
  const double zone = (cf.longitude() + 183) / 6;
  const double northing = cf.northing();
  const bool is_utm = name == "transverse_mercator" && IsWgs84(cf.ellipsoid()) &&
                      std::abs(cf.scale() - 0.9996) < 1e-9 && cf.latitude() == 0 &&
                      cf.easting() == 500'000 && (northing == 0 || northing == 10'000'000);
  if (!is_utm || zone != std::floor(zone) || zone < 1 || zone > 60) return std::nullopt;
  return (northing == 0 ? 32600 : 32700) + static_cast<int>(zone);
}

void AddCf(const Attributes& attributes, ReferenceSystem& system) {
  const std::string name = TextOf(attributes, "grid_mapping_name");
  if (name.empty()) return;
  const CfParameters cf(attributes);
  const SystemKind kind = name == "latitude_longitude"           ? SystemKind::kGeographic
                          : name == "rotated_latitude_longitude" ? SystemKind::kRotated
                                                                 : SystemKind::kProjected;
  const bool is_new = system.kind == SystemKind::kUnknown;
  if (is_new) system.kind = kind;
  if (system.kind != kind) return;
  const std::string ellipsoid = ProjEllipsoid(cf.ellipsoid());
  if (name == "geostationary" && cf.Has("perspective_point_height")) {
    system.metres_of_radian = cf.Of({"perspective_point_height"});
  }
  std::string text;
  if (kind == SystemKind::kGeographic && cf.ellipsoid().is_known && !IsWgs84(cf.ellipsoid())) {
    text = fmt::format("+proj=longlat{} +no_defs", ellipsoid);
    system.projection = GeoTiffProjection{.ellipsoid = cf.ellipsoid()};
  }
  if (kind == SystemKind::kRotated)
    text = fmt::format("{}{} +no_defs", RotatedPole(cf), ellipsoid);
  if (kind == SystemKind::kProjected) {
    auto projection = ConeOrCylinder(name, cf);
    if (!projection) projection = PlaneOrOther(name, cf);
    if (projection) {
      text = fmt::format("+proj={} +x_0={} +y_0={}{} +units=m +no_defs", projection->proj,
                         cf.easting(), cf.northing(), ellipsoid);
      if (projection->geotiff.method != 0) {
        projection->geotiff.ellipsoid = cf.ellipsoid();
        system.projection = std::move(projection->geotiff);
      }
    }
    if (!system.epsg && system.text.empty()) system.epsg = EpsgOfZone(name, cf);
  }
  if (system.text.empty()) system.text = std::move(text);
}

// GDAL writes its six numbers as text.
std::vector<double> NumbersInText(const std::string& text) {
  std::vector<double> numbers;
  std::string_view rest = text;
  while (!rest.empty()) {
    if (rest.front() == ' ' || rest.front() == ',') {
      rest.remove_prefix(1);
      continue;
    }
    const auto number = model::TakeNumber<double>(rest);
    if (!number || !std::isfinite(*number)) return {};
    numbers.push_back(*number);
  }
  return numbers.size() == 6 ? numbers : std::vector<double>();
}

}  // namespace

bool IsWorthRetrying(const model::Error& error) {
  return error.is_transient() && error.code() != model::ErrorCode::kDenied;
}

ReferenceSystem ReadReferenceSystem(const Attributes& attributes) {
  ReferenceSystem system;
  for (const std::string_view name :
       {"crs_wkt", "spatial_ref", "proj:wkt2", "proj:projjson", "_CRS", "proj:code",
        "proj:epsg", "epsg_code", "EPSG_code", "spatial_epsg", "epsg", "crs", "proj4",
        "proj4_params"}) {
    if (system.epsg) break;
    ReferenceSystem found = SystemOfText(TextOrNumber(attributes, name), 0);
    if (system.kind == SystemKind::kUnknown) {
      system = std::move(found);
    } else if (system.kind == found.kind) {
      system.epsg = found.epsg;
    }
  }
  AddCf(attributes, system);
  system.transform = NumbersInText(TextOf(attributes, "GeoTransform"));
  return system;
}

// `grid_mapping` is a name, or "name: x y" for some of the coordinates.
Result<ReferenceSystem> FindReferenceSystem(const ArrayInput& array) {
  const Attributes& own = array.node->attributes();
  std::string name = TextOf(own, "grid_mapping");
  name = name.substr(0, name.find_first_of(": "));
  NDLFS_TRY(const auto mapping, FindNamed(array.group, name));
  if (mapping && !mapping->child.node->is_group()) {
    return ReadReferenceSystem(mapping->child.node->attributes());
  }
  ReferenceSystem system = ReadReferenceSystem(own);
  if (system.kind != SystemKind::kUnknown) return system;
  for (const std::string_view usual : {"spatial_ref", "crs"}) {
    NDLFS_TRY(const auto found, FindNamed(array.group, usual));
    if (!found || found->child.node->is_group()) continue;
    system = ReadReferenceSystem(found->child.node->attributes());
    if (system.kind != SystemKind::kUnknown) return system;
  }
  for (auto group = array.group; group != nullptr; group = group->Outer()) {
    system = ReadReferenceSystem(group->node().attributes());
    if (system.kind != SystemKind::kUnknown) return system;
  }
  return system;
}

}  // namespace ndlfs::fs
