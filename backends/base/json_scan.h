// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/error.h"

namespace ndlfs::backends {

// A member of a JSON object. The text of its value is [begin, end) of the whole
// text.
struct JsonMember {
  std::string key;
  size_t begin;
  size_t end;
};

// Finds the members of the JSON object `text`, but not the structure of their
// values. That makes it possible to parse a document of many megabytes member by
// member, without holding all of it as a tree. Does not notice errors inside of
// values, which parsing them does. Returns a key that occurs twice both times. Fails with
// kLimit for more than `most` members.
model::Result<std::vector<JsonMember>> ScanJsonObject(std::string_view text,
                                                      size_t most = SIZE_MAX);

}  // namespace ndlfs::backends
