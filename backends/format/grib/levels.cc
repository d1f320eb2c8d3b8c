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
#include "backends/format/grib/surface_names.inc"
};

struct Edition1Name {
  uint8_t type;
  std::string_view name;
  Edition1Level level = {};
};

constexpr Edition1Name kEdition1Names[] = {
#include "backends/format/grib/edition1_levels.inc"
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
#include "backends/format/grib/level_facts.inc"
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
