// SPDX-License-Identifier: MIT
#include "fs/view/place/geo_keys.h"

#include <span>
#include <utility>

namespace ndlfs::fs {
namespace {

// The tag of the list of doubles.
constexpr uint16_t kDoubleParams = 34736;

class GeoKeyWriter {
 public:
  void Add(uint16_t key, uint16_t value) {
    const uint16_t row[] = {key, 0, 1, value};
    Append(row);
  }
  void AddDouble(uint16_t key, double value) {
    const uint16_t row[] = {key, kDoubleParams, 1, static_cast<uint16_t>(keys_.doubles.size())};
    keys_.doubles.push_back(value);
    Append(row);
  }
  GeoKeys Finish() {
    keys_.shorts[3] = static_cast<uint16_t>(keys_.shorts.size() / 4 - 1);
    return std::move(keys_);
  }

 private:
  void Append(std::span<const uint16_t, 4> row) {
    keys_.shorts.insert(keys_.shorts.end(), row.begin(), row.end());
  }
  GeoKeys keys_{.shorts = {1, 1, 0, 0}, .doubles = {}};
};

}  // namespace

// Keys ascend by their numbers.
GeoKeys MakeGeoKeys(const MapPlace& place) {
  constexpr uint16_t kModelType = 1024;
  constexpr uint16_t kRasterType = 1025;
  constexpr uint16_t kGeographicType = 2048;
  constexpr uint16_t kProjectedType = 3072;
  constexpr uint16_t kUserDefined = 32767;
  const ReferenceSystem& system = place.system;
  if (system.kind == ReferenceSystem::Kind::kRotated) return {};
  if (!system.epsg && !system.projection) return {};
  GeoKeyWriter keys;
  keys.Add(kModelType, place.is_geographic ? 2 : 1);
  keys.Add(kRasterType, place.is_point ? 2 : 1);  // else pixels are areas
  if (system.epsg) {
    keys.Add(place.is_geographic ? kGeographicType : kProjectedType,
             static_cast<uint16_t>(*system.epsg));
    return keys.Finish();
  }
  const GeoTiffProjection& projection = *system.projection;
  if (projection.ellipsoid == Ellipsoid() || !projection.ellipsoid.is_known) {
    keys.Add(kGeographicType, 4326);
  } else {
    keys.Add(kGeographicType, kUserDefined);
    keys.Add(2050, kUserDefined);  // the datum
    keys.Add(2054, 9102);          // degrees
    keys.Add(2056, kUserDefined);  // the ellipsoid
    keys.AddDouble(2057, projection.ellipsoid.semi_major);
    const double flattening = projection.ellipsoid.inverse_flattening;
    if (flattening == 0) {
      keys.AddDouble(2058, projection.ellipsoid.semi_major);
    } else {
      keys.AddDouble(2059, flattening);
    }
  }
  if (place.is_geographic) return keys.Finish();
  keys.Add(kProjectedType, kUserDefined);
  keys.Add(3074, kUserDefined);       // the projection
  keys.Add(3075, projection.method);  // its method
  keys.Add(3076, 9001);               // metres
  for (const auto& [key, value] : projection.keys) keys.AddDouble(key, value);
  return keys.Finish();
}

}  // namespace ndlfs::fs
