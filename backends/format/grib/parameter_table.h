// SPDX-License-Identifier: MIT
//
// Tables of facts, which make_parameters.py writes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace ndlfs::backends::grib {

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

}  // namespace ndlfs::backends::grib
