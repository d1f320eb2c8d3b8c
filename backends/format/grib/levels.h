// SPDX-License-Identifier: MIT
//
// What the levels of GRIB messages are called, by the names that ecCodes and cfgrib have.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/entities.h"

namespace ndlfs::backends::grib {

// The type of level with these surfaces (code table 4.5 of edition 2; 255: none), such as
// "heightAboveGround"; "level_213" and "level_103_1" for others. The text stays.
std::string_view NameLevel(uint8_t surface, uint8_t second_surface);

// The same of edition 1 (code table 3).
std::string_view NameEdition1Level(uint8_t type);

// How the octets 11 and 12 of edition 1 are read for a type of level.
struct Edition1Level {
  bool is_layer = false;  // one octet each for top and bottom
  double factor = 1;      // of a layer's numbers, or of the level
};
Edition1Level DescribeEdition1Level(uint8_t type);

// Whether levels of this type go down from the largest number, as pressure does.
bool IsDescending(std::string_view type);

// Attributes of the coordinates along levels of this type: units, positive, long_name,
// standard_name.
std::vector<model::Attribute> LevelAttributes(std::string_view type);

}  // namespace ndlfs::backends::grib
