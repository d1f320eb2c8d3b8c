// SPDX-License-Identifier: MIT
//
// What the text of YAML scalars stands for.
#pragma once

#include <optional>
#include <string_view>

#include "model/value.h"

namespace ndlfs::model {

// The integers of YAML 1.2: decimal, 0x and 0o. Nullopt for anything else,
// among it decimals with leading zeros, which YAML 1.1 takes for octal, and
// numbers beyond 100 bits.
std::optional<WideInt> ParseYamlInteger(std::string_view text);

// Whether `text` has the form of a number of YAML 1.2, in range or not.
bool LooksLikeYamlNumber(std::string_view text);

// The floats of YAML 1.2, and integers, as `T` (float or double); nullopt for
// anything else, and for what is too large. What is too small becomes zero.
template <typename T>
std::optional<T> ParseYamlFloat(std::string_view text);

// true, True, TRUE, false, False or FALSE.
std::optional<bool> ParseYamlBool(std::string_view text);

// The bytes of a "!!binary": padded base64, blanks and line breaks left out.
std::optional<Blob> ParseYamlBinary(std::string_view text);

}  // namespace ndlfs::model
