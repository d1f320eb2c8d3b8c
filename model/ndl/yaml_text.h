// SPDX-License-Identifier: MIT
//
// Writes text as YAML scalars. Every reader of YAML 1.1 or 1.2 reads the same
// text back, because text that would resolve to something else is quoted.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/value.h"

namespace ndlfs::model {

enum class YamlPlace { kBlock, kFlow };

// Whether some reader of YAML 1.1 or 1.2 takes the plain scalar `text` for something other than
// text: null, a bool, a number, a timestamp, a symbol, or a special key.
bool ResolvesToOther(std::string_view text);

// Appends `text` as a scalar on one line: plain if possible, else in double
// quotes. Takes text that is not UTF-8 as Latin-1.
void AppendScalar(std::string& out, std::string_view text, YamlPlace place);

// Appends JSON as a scalar on one line: in single quotes, which leave its own
// quotes as they are, or in double quotes if it has characters to escape.
void AppendJson(std::string& out, std::string_view text);

// Whether a literal block can hold exactly `text`, which has several lines.
bool CanBeLiteralBlock(std::string_view text);

// Appends a literal block: the header ("|", "|-" or "|+") and the lines, each
// indented by `indent` spaces, with a newline at the end.
void AppendLiteralBlock(std::string& out, std::string_view text, size_t indent);

// Appends "!!binary" and the bytes in base64.
void AppendBinary(std::string& out, std::span<const std::byte> bytes);

// Reads the text of YAML scalars as numbers, bools and bytes.

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
