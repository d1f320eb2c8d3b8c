// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "model/error.h"

namespace ndlfs::backends {

// A member of a JSON object and where the text of its value is.
struct JsonMember {
  std::string key;
  size_t begin;
  size_t end;
};

// Finds the members of the object that `text` is, without looking into their
// values further than to see where they end: documents of many megabytes are
// taken apart without being held in memory as a tree. What is wrong within a
// value shows when it is parsed. A key that occurs twice is there twice.
model::Result<std::vector<JsonMember>> ScanJsonObject(std::string_view text);

}  // namespace ndlfs::backends
