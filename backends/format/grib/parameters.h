// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace ndlfs::backends::grib {

// What a message says about its parameter.
struct ParameterKey {
  uint8_t edition = 2;
  uint8_t centre = 0;  // 255 for larger numbers
  // Edition 1: the table, 0, and the indicator of parameter.
  uint8_t discipline = 0, category = 0, number = 0;
  uint8_t surface = 255;         // of the first level; 255: none
  uint8_t second_surface = 255;  // 255: none
  double level = 0;
  uint8_t process = 255;  // code table 4.10; 255: none
  // What libeccodes is asked for the name; null if it is not. See local_names.h.
  std::shared_ptr<const std::string> question = {};
  bool operator==(const ParameterKey&) const = default;
};

struct Parameter {
  uint32_t id = 0;  // ECMWF's paramId; 0: not known
  std::string short_name;
  std::string variable;  // the name of an array
  std::string name;
  std::string units;
  std::string cf_name;
  std::string note = {};  // for users: why it has no better name
  bool operator==(const Parameter&) const = default;
};

// Whether the tables have it.
bool IsKnownParameter(const ParameterKey& key);

// A parameter that the tables lack is called "parameter_0_1_192" by its numbers, and has no
// units.
Parameter FindParameter(const ParameterKey& key);

}  // namespace ndlfs::backends::grib
