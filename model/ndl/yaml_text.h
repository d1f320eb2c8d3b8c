// SPDX-License-Identifier: MIT
//
// Text as YAML scalars. What is written here every YAML 1.1 and 1.2 reader
// takes for the same text: quoted where it would resolve to something else.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace ndlfs::model {

enum class YamlPlace { kBlock, kFlow };

// Whether some reader of YAML 1.1 or 1.2 resolves the plain scalar `text` to
// null, a bool, a number, a timestamp, a symbol, or one of the special keys.
bool ResolvesToOther(std::string_view text);

// Appends `text` as a scalar on one line: plain if it can be, else in double
// quotes. Text that is not UTF-8 is taken as Latin-1.
void AppendScalar(std::string& out, std::string_view text, YamlPlace place);

// Appends text that is JSON as a scalar on one line: in single quotes, which
// leave its own quotes as they are, or in double quotes where it has
// characters that need escapes.
void AppendJson(std::string& out, std::string_view text);

// Whether a literal block gives back exactly `text`, which has several lines.
bool CanBeLiteralBlock(std::string_view text);

// Appends the header ("|", "|-" or "|+") and the lines, each behind `indent`
// blanks, with the newline at the end.
void AppendLiteralBlock(std::string& out, std::string_view text, size_t indent);

// Appends "!!binary" and the bytes in base64.
void AppendBinary(std::string& out, std::span<const std::byte> bytes);

}  // namespace ndlfs::model
