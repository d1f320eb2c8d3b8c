// SPDX-License-Identifier: MIT
//
// Types and values in the notation of NcML.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/datatype.h"
#include "model/error.h"
#include "model/value.h"

namespace ndlfs::backends::ncml {

// The type of a keyword, such as "int" or "String"; empty stands for String. Errors: the type
// is unknown, or has no values (Structure).
model::Result<model::Datatype> ParseType(std::string_view keyword, bool is_unsigned);

// The values in `text`: numbers between blanks, or texts. Texts are divided at `separator`;
// without one, the text is one value.
model::Result<model::Value::List> ParseValues(const model::Datatype& type,
                                              std::string_view text,
                                              std::optional<std::string_view> separator);

// `count` numbers from `start` on.
model::Result<model::Value::List> RegularValues(const model::Datatype& type,
                                                std::string_view start,
                                                std::string_view increment, uint64_t count);

}  // namespace ndlfs::backends::ncml
