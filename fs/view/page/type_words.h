// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "model/datatype.h"

namespace ndlfs::fs {

// A type for people who do not know NDL: "float32", "int8 with names: clear, cloudy", "records:
// time (date and time), depth (float32)", "text", "text of 12 bytes". At most some 300 bytes of
// UTF-8, unless it has long names.
std::string TypeWords(const model::Datatype& type);

// 1234567 as "1,234,567".
std::string FormatCount(uint64_t count);

}  // namespace ndlfs::fs
