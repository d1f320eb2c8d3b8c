// SPDX-License-Identifier: MIT
//
// Reads the text of YAML scalars as numbers, bools and bytes.
#pragma once

#include <optional>
#include <string_view>

#include "model/value.h"

namespace ndlfs::model {

// Reads an integer of YAML 1.2: decimal, 0x or 0o. Nullopt for anything else,
// including numbers beyond 100 bits, and decimals with leading zeros, which are
// octal in YAML 1.1.
std::optional<WideInt> ParseYamlInteger(std::string_view text);

// Whether `text` has the form of a YAML 1.2 number, in range or not.
bool LooksLikeYamlNumber(std::string_view text);

// Reads a float or integer of YAML 1.2 as `T` (float or double). Nullopt for
// anything else, and for numbers that are too large. Numbers that are too small
// become zero.
template <typename T>
std::optional<T> ParseYamlFloat(std::string_view text);

// Reads true, True, TRUE, false, False or FALSE; nullopt for anything else.
std::optional<bool> ParseYamlBool(std::string_view text);

// Decodes the text of a "!!binary": padded base64 with spaces and line breaks
// anywhere.
std::optional<Blob> ParseYamlBinary(std::string_view text);

}  // namespace ndlfs::model
