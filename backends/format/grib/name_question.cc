// SPDX-License-Identifier: MIT
//
// The message that libeccodes is asked about.
#include <algorithm>
#include <string>

#include "backends/base/bytes.h"
#include "backends/format/grib/local_names.h"
#include "backends/format/grib/product.h"

namespace ndlfs::backends::grib {
namespace {

constexpr std::string_view kEnd = "7777";

// `value` in `count` octets, at most 8.
void Put(std::string& out, uint64_t value, size_t count) {
  for (size_t i = count; i > 0; --i) {
    out.push_back(static_cast<char>(value >> (8 * (i - 1)) & 0xff));
  }
}

std::string TextOf(const GribSection& section) {
  return section ? std::string(AsText(*section)) : std::string();
}

// `number` counts from 1. Octets that are not there stay away.
void SetOctets(std::string& section, size_t number, std::string_view octets) {
  for (size_t i = 0; i < octets.size() && number - 1 + i < section.size(); ++i) {
    section[number - 1 + i] = octets[i];
  }
}

std::string Identification(const GribMessage& message) {
  std::string section;
  Put(section, 21, 4);
  Put(section, 1, 1);
  Put(section, message.centre, 2);
  Put(section, message.subcentre, 2);
  Put(section, message.tables_version, 1);
  Put(section, message.local_tables_version, 1);
  Put(section, message.time_significance, 1);
  Put(section, 2000, 2);
  Put(section, 0x0101, 2);
  Put(section, 0, 3);
  Put(section, message.production_status, 1);
  Put(section, message.data_type, 1);
  return section;
}

// Sections 3, 5, 6 and 7: one point with the value 0.
std::string OnePointGrid() {
  std::string section;
  Put(section, 72, 4);
  Put(section, 3, 1);
  Put(section, 0, 1);
  Put(section, 1, 4);          // points
  Put(section, 0, 4);          // no list of rows; template 3.0
  Put(section, 6, 1);          // the shape of the earth
  section.append(15, '\xff');  // and its axes
  Put(section, 1, 4);          // columns
  Put(section, 1, 4);          // rows
  Put(section, 0, 4);          // basic angle
  Put(section, 0xffffffff, 4);
  Put(section, 0, 8);  // the first point
  Put(section, 0x30, 1);
  Put(section, 0, 8);  // the last point
  Put(section, 1000000, 4);
  Put(section, 1000000, 4);
  Put(section, 0, 1);
  return section;
}
std::string ConstantData() {
  std::string sections;
  Put(sections, 21, 4);
  Put(sections, 5, 1);
  Put(sections, 1, 4);        // values
  Put(sections, 0, 2);        // template 5.0
  sections.append(10, '\0');  // reference, scales, bits
  Put(sections, 6, 4);
  Put(sections, 6, 1);
  Put(sections, 255, 1);
  Put(sections, 5, 4);
  Put(sections, 7, 1);
  return sections;
}

std::string Question2(const GribMessage& message, const GribField& field) {
  std::string product = TextOf(field.product);
  for (const auto& [number, octets] : OctetsOfTimes(field.product_template)) {
    SetOctets(product, number, octets);
  }
  const std::string sections =
      Identification(message) + TextOf(field.local) + OnePointGrid() + product + ConstantData();
  std::string whole = "GRIB";
  Put(whole, 0, 2);
  Put(whole, message.discipline, 1);
  Put(whole, 2, 1);
  Put(whole, 16 + sections.size() + kEnd.size(), 8);
  return whole.append(sections).append(kEnd);
}

std::string Question1(const GribField& field) {
  std::string sections = TextOf(field.product);
  SetOctets(sections, 7, std::string_view("\xff\x80", 2));  // the grid has a section; no bitmap
  // The first day of 2000 is in the twentieth century.
  SetOctets(sections, 13, std::string_view("\x64\x01\x01\0\0", 5));
  SetOctets(sections, 19, std::string_view("\0\0", 2));
  SetOctets(sections, 25, "\x14");
  Put(sections, 32, 3);
  Put(sections, 0x00ff00, 3);    // no vertical coordinates, no list of rows; a grid of type 0
  Put(sections, 0x00010001, 4);  // columns and rows
  Put(sections, 0, 6);           // the first point
  Put(sections, 0x80, 1);
  Put(sections, 0, 6);  // the last point
  Put(sections, 0x03e803e8, 4);
  Put(sections, 0, 5);
  Put(sections, 12, 3);
  Put(sections, 8, 1);  // the last octet is not used
  Put(sections, 0, 8);
  std::string whole = "GRIB";
  Put(whole, 8 + sections.size() + kEnd.size(), 3);
  Put(whole, 1, 1);
  return whole.append(sections).append(kEnd);
}

}  // namespace

std::string MakeNameQuestion(const GribMessage& message, const GribField& field) {
  return message.edition == 1 ? Question1(field) : Question2(message, field);
}

}  // namespace ndlfs::backends::grib
