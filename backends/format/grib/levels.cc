// SPDX-License-Identifier: MIT
#include "backends/format/grib/levels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "model/attributes.h"
#include "model/mutex.h"

namespace ndlfs::backends::grib {
namespace {

constexpr uint8_t kNone = 255;
constexpr uint8_t kAnySecond = 254;

struct SurfaceName {
  uint8_t surface, second;
  std::string_view name;
};

// Those from 192 on are NCEP's, which no other centre uses otherwise in files that are public.
constexpr SurfaceName kSurfaceNames[] = {
    {1, kNone, "surface"},
    {1, 8, "entireAtmosphere"},
    {1, 9, "entireOcean"},
    {1, 162, "entireLake"},
    {2, kNone, "cloudBase"},
    {3, kNone, "cloudTop"},
    {4, kNone, "isothermZero"},
    {5, kNone, "adiabaticCondensation"},
    {6, kNone, "maxWind"},
    {7, kNone, "tropopause"},
    {8, kNone, "nominalTop"},
    {9, kNone, "seaBottom"},
    {10, kNone, "atmosphere"},
    {14, kNone, "freeConvection"},
    {17, kNone, "mostUnstableParcel"},
    {18, kNone, "mixedLayerParcel"},
    {20, kNone, "isothermal"},
    {20, 20, "isothermalLayer"},
    {100, kNone, "isobaricInhPa"},
    {100, 100, "isobaricLayer"},
    {101, kNone, "meanSea"},
    {102, kNone, "heightAboveSea"},
    {102, 102, "heightAboveSeaLayer"},
    {103, kNone, "heightAboveGround"},
    {103, 103, "heightAboveGroundLayer"},
    {104, kNone, "sigma"},
    {104, 104, "sigmaLayer"},
    {105, kNone, "hybrid"},
    {105, 105, "hybridLayer"},
    {106, kNone, "depthBelowLand"},
    {106, 106, "depthBelowLandLayer"},
    {107, kNone, "theta"},
    {107, 107, "thetaLayer"},
    {108, kNone, "pressureFromGround"},
    {108, 108, "pressureFromGroundLayer"},
    {109, kNone, "potentialVorticity"},
    {111, kNone, "eta"},
    {114, kNone, "snow"},
    {114, 114, "snowLayer"},
    {117, kNone, "mixedLayerDepthGeneric"},
    {118, kNone, "hybridHeight"},
    {119, kNone, "hybridPressure"},
    {150, kNone, "generalVertical"},
    {150, 150, "generalVerticalLayer"},
    {151, kNone, "soil"},
    {151, 151, "soilLayer"},
    {152, kNone, "seaIce"},
    {152, 152, "seaIceLayer"},
    {160, kNone, "depthBelowSea"},
    {160, 160, "depthBelowSeaLayer"},
    {160, 9, "oceanSurfaceToBottom"},
    {162, kNone, "lakeBottom"},
    {166, kNone, "mixingLayer"},
    {168, kNone, "oceanModel"},
    {168, 168, "oceanModelLayer"},
    {169, kNone, "mixedLayerDepthByDensity"},
    {170, kNone, "mixedLayerDepthByTemperature"},
    {171, kNone, "mixedLayerDepthByDiffusivity"},
    {173, kNone, "snowTopOverIceOnWater"},
    {174, kNone, "iceTopOnWater"},
    {177, kNone, "indefiniteSoilDepth"},
    {200, kAnySecond, "atmosphereSingleLayer"},
    {201, kAnySecond, "oceanSingleLayer"},
    {204, kAnySecond, "highestTroposphericFreezing"},
    {206, kAnySecond, "gridScaleCloudBottom"},
    {207, kAnySecond, "gridScaleCloudTop"},
    {209, kAnySecond, "boundaryLayerCloudBottom"},
    {210, kAnySecond, "boundaryLayerCloudTop"},
    {211, kAnySecond, "boundaryLayerCloudLayer"},
    {212, kAnySecond, "lowCloudBottom"},
    {213, kAnySecond, "lowCloudTop"},
    {214, kAnySecond, "lowCloudLayer"},
    {215, kAnySecond, "cloudCeiling"},
    {220, kAnySecond, "planetaryBoundaryLayer"},
    {221, kAnySecond, "layerBetween2Hybrids"},
    {222, kAnySecond, "middleCloudBottom"},
    {223, kAnySecond, "middleCloudTop"},
    {224, kAnySecond, "middleCloudLayer"},
    {232, kAnySecond, "highCloudBottom"},
    {233, kAnySecond, "highCloudTop"},
    {234, kAnySecond, "highCloudLayer"},
    {235, kAnySecond, "oceanIsotherm"},
    {240, kAnySecond, "oceanMixedLayer"},
    {241, kAnySecond, "orderedSequenceData"},
    {242, kAnySecond, "convectiveCloudBottom"},
    {243, kAnySecond, "convectiveCloudTop"},
    {244, kAnySecond, "convectiveCloudLayer"},
    {245, kAnySecond, "lowestLevelWetBulb0"},
    {247, kAnySecond, "equilibrium"},
    {248, kAnySecond, "shallowConvectiveCloudBottom"},
    {249, kAnySecond, "shallowConvectiveCloudTop"},
    {251, kAnySecond, "deepConvectiveCloudBottom"},
    {252, kAnySecond, "deepConvectiveCloudTop"},
};

struct Edition1Name {
  uint8_t type;
  std::string_view name;
  Edition1Level level = {};
};

constexpr Edition1Name kEdition1Names[] = {
    {1, "surface"},
    {2, "cloudBase"},
    {3, "cloudTop"},
    {4, "isothermZero"},
    {5, "adiabaticCondensation"},
    {6, "maxWind"},
    {7, "tropopause"},
    {8, "nominalTop"},
    {9, "seaBottom"},
    {20, "isothermal", {false, 0.01}},
    {100, "isobaricInhPa"},
    {101, "isobaricLayer", {true, 1000}},  // kPa; Pa as in edition 2
    {102, "meanSea"},
    {103, "heightAboveSea"},
    {104, "heightAboveSeaLayer", {true, 100}},
    {105, "heightAboveGround"},
    {106, "heightAboveGroundLayer", {true, 100}},
    {107, "sigma", {false, 1e-4}},
    {108, "sigmaLayer", {true, 1e-2}},
    {109, "hybrid"},
    {110, "hybridLayer", {true, 1}},
    {111, "depthBelowLand", {false, 0.01}},
    {112, "depthBelowLandLayer", {true, 0.01}},
    {113, "theta"},
    {114, "thetaLayer", {true, 1}},
    {115, "pressureFromGround"},
    {116, "pressureFromGroundLayer", {true, 1}},
    {117, "potentialVorticity", {false, 1e-9}},
    {119, "eta", {false, 1e-4}},
    {120, "etaLayer", {true, 1e-2}},
    {121, "isobaricLayerHighPrecision", {true, 1}},
    {125, "heightAboveGroundHighPrecision", {false, 0.01}},
    {126, "isobaricInhPa", {false, 0.01}},
    {128, "sigmaLayerHighPrecision", {true, 1}},
    {141, "isobaricLayerMixedPrecision", {true, 1}},
    {160, "depthBelowSea"},
    {200, "entireAtmosphere"},
    {201, "entireOcean"},
    {210, "isobaricInhPa", {false, 0.01}},
};

// Keeps each text once, for ever; there are few.
std::string_view KeepLevelName(std::string text) {
  static model::Mutex mutex;
  static std::set<std::string, std::less<>> kept;
  const model::MutexLock lock(mutex);
  return *kept.insert(std::move(text)).first;
}

const Edition1Name* FindLevel1(uint8_t type) {
  const auto found = std::ranges::find(kEdition1Names, type, &Edition1Name::type);
  return found == std::end(kEdition1Names) ? nullptr : found;
}

struct LevelFacts {
  std::string_view prefix;  // of the type
  std::string_view units, positive, long_name, standard_name;
};
// The first that fits.
constexpr LevelFacts kLevelFacts[] = {
    {"isobaricInhPa", "hPa", "down", "pressure", "air_pressure"},
    {"isobaricLayerHighPrecision", "", "down", "pressure", "air_pressure"},
    {"isobaricLayerMixedPrecision", "", "down", "pressure", "air_pressure"},
    {"isobaric", "Pa", "down", "pressure", "air_pressure"},
    {"heightAboveGround", "m", "up", "height above the surface", "height"},
    {"heightAboveSea", "m", "up", "height above mean sea level", "altitude"},
    {"depthBelowLand", "m", "down", "soil depth", "depth"},
    {"depthBelowSea", "m", "down", "depth below sea level", "depth"},
    {"hybridHeight", "1", "up", "hybrid height level", "atmosphere_hybrid_height_coordinate"},
    {"hybrid", "1", "down", "hybrid level", "atmosphere_hybrid_sigma_pressure_coordinate"},
    {"sigma", "1", "down", "sigma level", "atmosphere_sigma_coordinate"},
    {"theta", "K", "up", "potential temperature", "air_potential_temperature"},
    {"potentialVorticity", "K m2 kg-1 s-1", "", "potential vorticity", ""},
    {"pressureFromGround", "Pa", "down", "pressure difference from the ground", ""},
    {"isothermal", "K", "", "temperature", ""},
    {"soil", "1", "down", "soil level", ""},
};

}  // namespace

std::string_view NameLevel(uint8_t surface, uint8_t second_surface) {
  for (const SurfaceName& entry : kSurfaceNames) {
    if (entry.surface == surface &&
        (entry.second == second_surface || entry.second == kAnySecond)) {
      return entry.name;
    }
  }
  if (surface == kNone && second_surface == kNone) return "noLevel";
  if (second_surface == kNone) return KeepLevelName(fmt::format("level_{}", surface));
  return KeepLevelName(fmt::format("level_{}_{}", surface, second_surface));
}

std::string_view NameEdition1Level(uint8_t type) {
  const Edition1Name* found = FindLevel1(type);
  return found != nullptr ? found->name : KeepLevelName(fmt::format("level1_{}", type));
}

Edition1Level DescribeEdition1Level(uint8_t type) {
  const Edition1Name* found = FindLevel1(type);
  return found != nullptr ? found->level : Edition1Level();
}

bool IsDescending(std::string_view type) { return type.starts_with("isobaric"); }

std::vector<model::Attribute> LevelAttributes(std::string_view type) {
  std::vector<model::Attribute> attributes;
  const auto add = [&](const char* name, std::string_view text) {
    if (!text.empty()) attributes.push_back(model::MakeTextAttribute(name, text));
  };
  const auto found = std::ranges::find_if(
      kLevelFacts, [&](const LevelFacts& facts) { return type.starts_with(facts.prefix); });
  if (found == std::end(kLevelFacts)) {
    add("long_name", type);
    return attributes;
  }
  add("long_name", found->long_name);
  add("units", found->units);
  add("positive", found->positive);
  add("standard_name", found->standard_name);
  return attributes;
}

}  // namespace ndlfs::backends::grib
