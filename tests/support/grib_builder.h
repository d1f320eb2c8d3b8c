// SPDX-License-Identifier: MIT
//
// Messages of GRIB edition 2, made by hand after the Manual on Codes (WMO-No. 306, volume I.2):
// regular grids of latitudes and longitudes, values as IEEE floats.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/little_endian.h"

namespace ndlfs::test {

inline std::string GribNumber(uint64_t value, int bytes) {
  const std::string text = LittleEndian(value, bytes);
  return {text.rbegin(), text.rend()};
}

// What one field says about itself.
struct GribTestField {
  uint8_t discipline = 0, category = 0, number = 0;  // of the parameter: temperature
  uint8_t centre = 98;
  uint8_t surface = 100;
  uint32_t level = 50000;
  uint8_t second_surface = 255;
  uint32_t second_level = 0;
  uint8_t day = 1;     // of January 2025
  uint32_t hours = 0;  // of the forecast, or to the beginning of the interval
  std::optional<uint32_t> length = std::nullopt;  // of the interval, in hours
  uint8_t process = 1;                            // over it: accumulation
  std::optional<uint8_t> member = std::nullopt;   // not with an interval
  uint8_t background = 0;                         // process, which has no meaning here
  uint32_t ni = 2, nj = 2;
  std::vector<float> values = {1, 2, 3, 4};
  std::string elements = {};  // big-endian, instead of `values`
};

inline std::string GribSectionOf(uint8_t number, const std::string& body) {
  return GribNumber(body.size() + 5, 4) + GribNumber(number, 1) + body;
}

inline std::string GribIdentification(const GribTestField& field) {
  return GribSectionOf(1, GribNumber(field.centre, 2) + GribNumber(0, 2) + GribNumber(2, 1) +
                              GribNumber(0, 1) + GribNumber(1, 1) + GribNumber(2025, 2) +
                              GribNumber(1, 1) + GribNumber(field.day, 1) + GribNumber(0, 3) +
                              GribNumber(0, 2));
}

// From 60 degrees north, 10 degrees east, in steps of 1 degree, or 0.1 in large grids.
inline std::string GribGridSection(const GribTestField& field) {
  constexpr uint64_t kDegree = 1'000'000;
  const uint64_t step = std::max(field.ni, field.nj) > 60 ? kDegree / 10 : kDegree;
  return GribSectionOf(
      3, GribNumber(0, 1) + GribNumber(uint64_t{field.ni} * field.nj, 4) + GribNumber(0, 4) +
             GribNumber(6, 1) + std::string(15, '\0') + GribNumber(field.ni, 4) +
             GribNumber(field.nj, 4) + GribNumber(0, 4) + GribNumber(UINT32_MAX, 4) +
             GribNumber(60 * kDegree, 4) + GribNumber(10 * kDegree, 4) + GribNumber(0x30, 1) +
             GribNumber(60 * kDegree - (field.nj - 1) * step, 4) +
             GribNumber(10 * kDegree + (field.ni - 1) * step, 4) + GribNumber(step, 4) +
             GribNumber(step, 4) + GribNumber(0, 1));
}

inline std::string GribProductSection(const GribTestField& field) {
  const int number = field.length ? 8 : field.member ? 1 : 0;
  std::string body = GribNumber(0, 2) + GribNumber(number, 2) + GribNumber(field.category, 1) +
                     GribNumber(field.number, 1) + GribNumber(2, 1) +
                     GribNumber(field.background, 1) + GribNumber(0, 4) + GribNumber(1, 1) +
                     GribNumber(field.hours, 4) + GribNumber(field.surface, 1) +
                     GribNumber(0, 1) + GribNumber(field.level, 4) +
                     GribNumber(field.second_surface, 1) + GribNumber(0, 1) +
                     GribNumber(field.second_level, 4);
  if (field.member) body += GribNumber(3, 1) + GribNumber(*field.member, 1) + GribNumber(50, 1);
  if (!field.length) return GribSectionOf(4, body);
  const uint32_t end = field.hours + *field.length;
  body += GribNumber(2025, 2) + GribNumber(1, 1) + GribNumber(field.day + end / 24, 1) +
          GribNumber(end % 24, 1) + GribNumber(0, 2) + GribNumber(1, 1) + GribNumber(0, 4);
  body += GribNumber(field.process, 1) + GribNumber(2, 1) + GribNumber(1, 1) +
          GribNumber(*field.length, 4) + GribNumber(1, 1) + GribNumber(0, 4);
  return GribSectionOf(4, body);
}

// Sections 5 to 7: template 5.4, without a bitmap.
inline std::string GribDataSections(const GribTestField& field) {
  std::string data = field.elements;
  if (data.empty()) {
    for (const float value : field.values)
      data += GribNumber(std::bit_cast<uint32_t>(value), 4);
  }
  return GribSectionOf(5, GribNumber(uint64_t{field.ni} * field.nj, 4) + GribNumber(4, 2) +
                              GribNumber(1, 1)) +
         GribSectionOf(6, GribNumber(255, 1)) + GribSectionOf(7, data);
}

// One message of these fields, which share the grid of the first one.
inline std::string GribMessageOfFields(const std::vector<GribTestField>& fields) {
  std::string sections = GribIdentification(fields[0]) + GribGridSection(fields[0]);
  for (const GribTestField& field : fields) {
    sections += GribProductSection(field) + GribDataSections(field);
  }
  return "GRIB" + GribNumber(0, 2) + GribNumber(fields[0].discipline, 1) + GribNumber(2, 1) +
         GribNumber(sections.size() + 20, 8) + sections + "7777";
}
inline std::string GribMessageOf(const GribTestField& field) {
  return GribMessageOfFields({field});
}

}  // namespace ndlfs::test
