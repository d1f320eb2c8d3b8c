// SPDX-License-Identifier: MIT
#include "backends/format/grib/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>

namespace ndlfs::backends::grib {
namespace {

// make_parameters.py writes the rows.
// Tables of facts, which make_parameters.py writes.

// What a parameter is called. Texts that are not known are empty.
struct ParameterFacts {
  uint32_t id;  // ECMWF's paramId
  std::string_view short_name;
  std::string_view variable;  // the name in netCDF files, if it is not the short name
  std::string_view name;
  std::string_view units;
  std::string_view cf_name;
};

// Which parameter the numbers of edition 2 mean. Conditions that are kAny always hold.
struct Edition2Code {
  static constexpr uint8_t kAny = 254;
  uint8_t discipline, category, number;  // code table 4.2
  uint8_t centre;                        // 0: all
  uint8_t surface;                       // the first one, code table 4.5
  int32_t level;                         // its value; -1: any
  uint8_t second_surface;                // 255: none
  uint8_t process;                       // code table 4.10; 255: none
  uint32_t id;
};

// The same of edition 1.
struct Edition1Code {
  uint8_t centre;  // 0: all
  uint8_t table, number;
  uint32_t id;
};

// Sorted by `id`.
extern const std::span<const ParameterFacts> kParameterFacts;

// Sorted by discipline, category and number.
extern const std::span<const Edition2Code> kEdition2Codes;
extern const std::span<const Edition1Code> kEdition1Codes;

constexpr ParameterFacts kFacts[] = {
#include "backends/format/grib/parameters.inc"
};
constexpr Edition2Code kCodesOfEdition2[] = {
#include "backends/format/grib/edition2_codes.inc"
};
constexpr Edition1Code kCodesOfEdition1[] = {
#include "backends/format/grib/edition1_codes.inc"
};

const std::span<const ParameterFacts> kParameterFacts = kFacts;
const std::span<const Edition2Code> kEdition2Codes = kCodesOfEdition2;
const std::span<const Edition1Code> kEdition1Codes = kCodesOfEdition1;

constexpr uint8_t kNcep = 7;
constexpr uint8_t kEcmwfTables = 98;
// ECMWF has its parameters of edition 1 also in edition 2: this discipline, and the table as
// category.
constexpr uint8_t kEcmwfDiscipline = 192;

// How many conditions of the entry hold; -1 if one does not.
int CountMatches(const Edition2Code& code, const ParameterKey& key) {
  int count = 0;
  const auto holds = [&](bool is_any, bool is_equal) {
    if (!is_any && is_equal) ++count;
    return is_any || is_equal;
  };
  constexpr uint8_t kAny = Edition2Code::kAny;
  const bool all =
      holds(code.surface == kAny, code.surface == key.surface) &&
      holds(code.level == -1, code.level == key.level) &&
      holds(code.second_surface == kAny, code.second_surface == key.second_surface) &&
      holds(code.process == kAny, code.process == key.process) &&
      (code.centre == 0 || code.centre == key.centre);
  // If two entries match equally well, the one of the centre counts.
  return all ? 2 * count + (code.centre != 0 ? 1 : 0) : -1;
}

uint32_t FindEdition2(const ParameterKey& key) {
  const auto numbers = [](const Edition2Code& code) {
    return std::tuple(code.discipline, code.category, code.number);
  };
  const std::tuple wanted(key.discipline, key.category, key.number);
  auto code = std::ranges::lower_bound(kEdition2Codes, wanted, {}, numbers);
  uint32_t id = 0;
  int best = -1;
  for (; code != kEdition2Codes.end() && numbers(*code) == wanted; ++code) {
    const int matches = CountMatches(*code, key);
    if (matches <= best) continue;
    best = matches;
    id = code->id;
  }
  return id;
}

uint32_t FindEdition1(uint8_t centre, uint8_t table, uint8_t number) {
  // Numbers from 128 on are each centre's own. NCEP and others call WMO's table also 1 and 2.
  const bool is_wmo = table <= 3;
  if (is_wmo && number >= 128) return 0;
  for (const Edition1Code& code : kEdition1Codes) {
    const bool is_table =
        is_wmo ? code.table <= 3 : code.table == table && code.centre == centre;
    if (is_table && code.number == number) return code.id;
  }
  return 0;
}

uint32_t FindId(const ParameterKey& key) {
  if (key.edition == 1) return FindEdition1(key.centre, key.discipline, key.number);
  if (key.discipline == kEcmwfDiscipline && key.centre == kEcmwfTables) {
    return FindEdition1(kEcmwfTables, key.category, key.number);
  }
  const bool is_local = key.category >= kEcmwfDiscipline || key.number >= kEcmwfDiscipline;
  // Local numbers of other centres may mean anything; the tables have those of NCEP, and a few
  // that everybody uses.
  if (is_local && key.centre != kNcep && key.category < kEcmwfDiscipline) return 0;
  return FindEdition2(key);
}

// Null if the tables lack it.
const ParameterFacts* FindFacts(const ParameterKey& key) {
  const uint32_t id = FindId(key);
  const auto found = std::ranges::lower_bound(kParameterFacts, id, {}, &ParameterFacts::id);
  return id != 0 && found != kParameterFacts.end() && found->id == id ? &*found : nullptr;
}

}  // namespace

bool IsKnownParameter(const ParameterKey& key) { return FindFacts(key) != nullptr; }

Parameter FindParameter(const ParameterKey& key) {
  if (const ParameterFacts* found = FindFacts(key)) {
    const std::string_view variable =
        found->variable.empty() ? found->short_name : found->variable;
    return {found->id,
            std::string(found->short_name),
            std::string(variable),
            std::string(found->name),
            std::string(found->units),
            std::string(found->cf_name)};
  }
  Parameter made;
  made.short_name =
      key.edition == 1
          ? fmt::format("parameter_{}_{}", key.discipline, key.number)
          : fmt::format("parameter_{}_{}_{}", key.discipline, key.category, key.number);
  made.variable = made.short_name;
  return made;
}

}  // namespace ndlfs::backends::grib
