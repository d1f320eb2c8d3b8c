// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "backends/format/grib/message_index.h"

namespace ndlfs::backends::grib {

// Fields that become one array: no two are at the same place.
struct FieldSet {
  std::string suffix;  // of the name of the array; empty for the first of those without one
  std::vector<const IndexedField*> fields;
  // The fields come again and again, and these are those that come as number `turn` + 1.
  uint32_t turn = 0;
  std::string note = {};  // why else there is more than one set; may be empty
};

// What is said of such fields.
std::string NoteOfTurn(size_t fields, uint32_t turn);

// Divides fields of one parameter so that no two in a set have the same member, times and
// level. Divides them by their intervals (the rain of one hour, and that since the beginning),
// then by other facts in their headers, and at last by their order in the file.
std::vector<FieldSet> SplitFields(const std::vector<const IndexedField*>& fields);

}  // namespace ndlfs::backends::grib
